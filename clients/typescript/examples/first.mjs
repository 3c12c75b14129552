import { Sager } from "sager-client";

const sager = new Sager({ url: "http://localhost:8088", token: process.env.SAGER_TOKEN ?? "" });
const shown = [
  { item_id: "arrival", title: "Arrival", metadata: { genres: ["Sci-Fi"], year: 2016 } },
  { item_id: "amelie", title: "Amélie", metadata: { genres: ["Romance"], year: 2001 } },
];
const ranking = sager.events.ranking("ann", "films", shown, { instruction: "something to think about" });
sager.events.selection(ranking, "arrival");
await sager.flush(); // the server has both
const taste = await sager.slim("ann", "films"); // undefined while nothing is sure enough
console.log(taste?.text ?? "nothing is known of ann yet");
await sager.close();
