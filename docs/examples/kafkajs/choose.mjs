// Without a client of ours: what was shown and taken goes to Kafka with KafkaJS, and the slim skill is followed.
import { randomUUID } from "node:crypto";
import { CompressionTypes, Kafka, Partitioners, logLevel } from "kafkajs";

const prefix = process.env.SAGER_PREFIX ?? "sager.";
const kafka = new Kafka({
  clientId: "shop",
  brokers: (process.env.SAGER_BOOTSTRAP ?? "localhost:9092").split(","),
  logLevel: logLevel.ERROR,
});

// KafkaJS' default partitioner is murmur2 of the key, which the contract asks for: never set `partition`.
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false });
await producer.connect();

/** An event is keyed by its user; gzip is what KafkaJS packs and every reader unpacks. */
function tell(base, event) {
  const value = { event_id: randomUUID(), occurred_at: new Date().toISOString(), ...event };
  const messages = [{ key: event.user_id, value: JSON.stringify(value) }];
  return producer.send({ topic: prefix + base, acks: -1, compression: CompressionTypes.GZIP, messages });
}

// A reader that wants every slim skill begins at the beginning, each time, in a group of its own.
const consumer = kafka.consumer({ groupId: `shop-slims-${randomUUID()}` });
await consumer.connect();
await consumer.subscribe({ topic: `${prefix}slim-skills`, fromBeginning: true });
const slims = new Map();
const known = new Promise((resolve) => {
  consumer.run({
    autoCommit: false,
    eachMessage: async ({ message }) => {
      const [user, domain] = JSON.parse(message.key.toString());
      if (message.value === null) return void slims.delete(`${user} ${domain}`); // forgotten
      const slim = JSON.parse(message.value.toString());
      slims.set(`${user} ${domain}`, slim.text);
      if (user === "joe" && slim.text.includes("comedy")) resolve();
    },
  });
});

const films = ["Comedy", "Drama", "Horror", "Western"].flatMap((genre) =>
  [1, 2].map((n) => ({ item_id: `${genre}-${n}`, title: `${genre} ${n}`, metadata: { genres: [genre] } })),
);
for (let n = 1; n <= 12; n += 1) {
  const ranking_id = randomUUID();
  await tell("rankings", { ranking_id, user_id: "joe", domain: "films", candidates: films });
  await tell("selections", { ranking_id, user_id: "joe", item_id: `Comedy-${1 + (n % 2)}` });
}
await known;
for (const [whose, text] of slims) if (whose.startsWith("joe ")) console.log(whose, text);
await producer.disconnect();
await consumer.disconnect();
