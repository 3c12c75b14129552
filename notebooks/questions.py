"""Ten questions that people ask of what was learned, each with one query, one figure and one sentence.

Open it with `marimo run notebooks/questions.py`, or `marimo edit` to go on from there; `-- --duckdb PATH` or
SAGER_DUCKDB names the snapshot. It is read only, and whole: run it again for a newer one.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Ten questions")

with app.setup:
    from pathlib import Path

    import marimo as mo
    import matplotlib.pyplot as plt

    from streams.analytics import read
    from streams.settings import Settings

    plt.rcParams["text.parse_math"] = False  # a title may have two dollar signs
    HELD, FADED, NOBODY = "#2a6f97", "#c1666b", "#8d99ae"
    MOST_BARS = 8
    TIERS = ["silent", "low", "medium", "high"]
    ERRORS = 2  # so many standard errors apart, a difference is taken for one


@app.function
def ask(con, query, *values):
    """The rows of a query as dictionaries."""
    done = con.execute(query, list(values))
    names = [name for name, *_ in done.description]
    return [dict(zip(names, row, strict=True)) for row in done.fetchall()]


@app.function
def drawn(width=7.5, height=2.9, of=1):
    """An empty figure and its axes, in the one style of this page."""
    figure, axes = plt.subplots(1, of, figsize=(width, height), layout="constrained")
    for each in axes if of > 1 else [axes]:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


@app.function
def told(question, sentence, query, figure):
    """A question as it stands on the page."""
    return mo.vstack(
        [
            mo.md(f"## {question}\n\n{sentence}"),
            figure,
            mo.accordion({"the query": mo.md(f"```sql\n{query.strip()}\n```")}),
        ]
    )


@app.function
def plain(line):
    """A line's id as words: `preference:genre:dark-reads` is `genre: dark reads`."""
    _, _, rest = line.partition(":")
    dimension, _, value = rest.partition(":")
    return f"{dimension}: {value.replace('-', ' ')}"


@app.function
def safe(text):
    """What people and apps wrote, as text on the page: neither HTML nor Markdown."""
    return "".join(sign if sign.isalnum() or sign in " .,:;!?" else f"&#{ord(sign)};" for sign in text)


@app.function
def share(part):
    """As percent."""
    return f"{part:.0%}"


@app.cell(hide_code=True)
def _():
    named = mo.cli_args().get("duckdb")
    con = read.connect(Settings(duckdb=Path(named)) if named else Settings())
    [about] = ask(
        con,
        """
        SELECT published_at, (SELECT count(DISTINCT user_id) FROM skills) AS people,
               (SELECT count(*) FROM outcomes) AS choices, (SELECT max(ranked_at) FROM outcomes) AS until
        FROM snapshot_info
    """,
    )
    mo.md(f"""
    # Ten questions

    About **{about["people"]:,} people** and **{about["choices"]:,} choices**, in the snapshot of
    {about["published_at"]:%d %B %Y, %H:%M} UTC. Views and macros are explained in `docs/analytics.md`, and by
    `sager sql --list`.
    """)
    return (con,)


@app.cell(hide_code=True)
def _(con):
    learning_query = """
        SELECT domain, nth, users, hit_at_3, sqrt(hit_at_3 * (1 - hit_at_3) / users) AS error
        FROM learning_curve WHERE nth <= 20 ORDER BY domain, nth
    """
    learning = ask(con, learning_query)
    learning_figure, learning_axes = drawn()
    for learning_domain in sorted({row["domain"] for row in learning}):
        of_domain = [row for row in learning if row["domain"] == learning_domain]
        learning_axes.errorbar(
            [row["nth"] for row in of_domain], [row["hit_at_3"] for row in of_domain],
            yerr=[row["error"] for row in of_domain], marker="o", markersize=3, elinewidth=0.6, label=learning_domain,
        )  # fmt: skip
    learning_axes.set(xlabel="a person's nth choice", ylabel="taken from the first 3", ylim=(0, 1))
    if learning:
        learning_axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

    [curve] = ask(
        con,
        """
        SELECT avg(hit_at_3::INT) FILTER (nth <= 3) AS first, count(*) FILTER (nth <= 3) AS n_first,
               avg(hit_at_3::INT) FILTER (nth > 6) AS later, count(*) FILTER (nth > 6) AS n_later FROM outcomes
    """,
    )
    if curve["first"] is None or curve["later"] is None:
        said_learning = "Nobody has made more than six choices yet: ask again later."
    else:
        curve_error = (
            sum(
                rate * (1 - rate) / count
                for rate, count in ((curve["first"], curve["n_first"]), (curve["later"], curve["n_later"]))
            )
            ** 0.5
        )
        curve_change = curve["later"] - curve["first"]
        said_learning = (
            f"Of the first three choices **{share(curve['first'])}** were among the first three shown, after the sixth "
            f"**{share(curve['later'])}**: "
            + (
                "a difference that chance alone may make." if abs(curve_change) < ERRORS * curve_error
                else "it learns." if curve_change > 0
                else "**it gets worse**, which wants a look at the arms below."
            )
        )  # fmt: skip
    told("1. Does it learn?", said_learning, learning_query, learning_figure)
    return (said_learning,)


@app.cell(hide_code=True)
def _(con):
    held_query = """
        SELECT attribute_id, sum(high + medium)::INT AS held, sum(users)::INT AS users
        FROM attribute_adoption GROUP BY ALL ORDER BY held DESC, attribute_id LIMIT 8
    """
    drift_query = """
        WITH span AS (SELECT max(valid_from) AS until, min(valid_from) AS began FROM skill_versions)
        SELECT attribute_id, users_after - users_before AS drift FROM attribute_drift(
            (SELECT greatest(began, until - INTERVAL 14 DAY) FROM span), (SELECT until FROM span)
        ) WHERE users_after <> users_before ORDER BY abs(drift) DESC, attribute_id LIMIT 8
    """
    held, drift = ask(con, held_query), ask(con, drift_query)
    held_figure, (held_axes, drift_axes) = drawn(width=9.5, height=3.2, of=2)
    held_axes.barh([plain(row["attribute_id"]) for row in held][::-1], [row["held"] for row in held][::-1], color=HELD)
    held_axes.set(title="held by most", xlabel="people")
    drift_axes.barh(
        [plain(row["attribute_id"]) for row in drift][::-1], [row["drift"] for row in drift][::-1],
        color=[HELD if row["drift"] > 0 else FADED for row in drift][::-1],
    )  # fmt: skip
    drift_axes.set(title="in two weeks", xlabel="people gained or lost")
    grown = [safe(plain(row["attribute_id"])) for row in drift if row["drift"] > 0][:2]
    fading = [safe(plain(row["attribute_id"])) for row in drift if row["drift"] < 0][:2]
    came, left_by = " and ".join(grown) or "no line", " and ".join(fading) or "none"
    said_lines = (
        f"Most people hold **{safe(plain(held[0]['attribute_id']))}** ({held[0]['held']}, at medium or high); in the "
        f"last two weeks most came to {came}, and most left {left_by}."
        if held
        else "Nobody holds a line yet."
    )
    told("2. Who learned what, and what fades?", said_lines, held_query + "\n" + drift_query, held_figure)
    return (said_lines,)


@app.cell(hide_code=True)
def _(con):
    arms_query = """
        WITH of_person AS (
            SELECT arm, user_id, avg(hit_at_3::INT) AS rate, count(*) AS choices FROM outcomes GROUP BY ALL
        )
        SELECT arm, count(*) AS people, sum(choices)::INT AS choices, avg(rate) AS hit_at_3,
               coalesce(stddev_samp(rate) / sqrt(count(*)), 0) AS error
        FROM of_person GROUP BY arm ORDER BY hit_at_3 DESC
    """
    arms = ask(con, arms_query)
    arms_figure, arms_axes = drawn(height=0.7 + 0.5 * max(1, len(arms)))
    arms_axes.barh(
        [f"{row['arm']} ({row['choices']:,})" for row in arms][::-1], [row["hit_at_3"] for row in arms][::-1],
        xerr=[row["error"] for row in arms][::-1], color=HELD, ecolor=NOBODY,
    )  # fmt: skip
    arms_axes.set(xlabel="taken from the first 3, mean over people", xlim=(0, 1))
    with_skill = next((row for row in arms if row["arm"] == "evolved"), None)
    without = max(
        (row for row in arms if row["arm"] in ("no-skill", "frozen", "control")),
        key=lambda row: row["choices"],
        default=None,
    )
    if with_skill is None or without is None:
        said_arms = (
            "There is no arm without a skill to compare with: rank a tenth of requests without one "
            "(`docs/analytics.md` tells how)."
        )
    else:
        apart = with_skill["hit_at_3"] - without["hit_at_3"]
        beyond = abs(apart) > ERRORS * (with_skill["error"] ** 2 + without["error"] ** 2) ** 0.5
        said_arms = (
            f"With an evolved skill **{share(with_skill['hit_at_3'])}** of choices are among the first three, in the "
            f"arm *{safe(without['arm'])}* {share(without['hit_at_3'])}: "
            + ("more than chance explains." if beyond else "not more apart than chance may bring.")
        )
    told("3. Does the skill help?", said_arms, arms_query, arms_figure)
    return (said_arms,)


@app.cell(hide_code=True)
def _(con):
    cost_query = """
        SELECT date_trunc('week', occurred_at)::DATE AS week, part, sum(calls)::INT AS calls,
               sum(cost_dollars) AS dollars
        FROM llm_calls GROUP BY ALL ORDER BY ALL
    """
    cost = ask(con, cost_query)
    [choices] = ask(con, "SELECT count(*) AS n FROM outcomes")
    cost_figure, cost_axes = drawn()
    cost_weeks = sorted({row["week"] for row in cost})
    cost_below = dict.fromkeys(cost_weeks, 0.0)
    for part in sorted({row["part"] for row in cost}):
        cost_of = {row["week"]: row["dollars"] or 0.0 for row in cost if row["part"] == part}
        cost_axes.bar(
            [f"{week:%d %b}" for week in cost_weeks], [cost_of.get(week, 0.0) for week in cost_weeks],
            bottom=[cost_below[week] for week in cost_weeks], label=part,
        )  # fmt: skip
        cost_below = {week: below + cost_of.get(week, 0.0) for week, below in cost_below.items()}
    if cost:
        cost_axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    cost_axes.set(ylabel="US dollars a week")
    spent, calls = sum(row["dollars"] or 0 for row in cost), sum(row["calls"] for row in cost)
    said_cost = (
        f"**${spent:,.4f}** for {calls:,} calls of a model, which is ${1000 * spent / max(1, choices['n']):,.3f} for "
        "1,000 choices, at the prices that the deployment is configured with."
        if calls
        else "Nothing: no model was called, and rules did all of it."
    )
    told("4. What does it cost?", said_cost, cost_query, cost_figure)
    return (said_cost,)


@app.cell(hide_code=True)
def _(con):
    taste_query = """
        SELECT date_trunc('week', occurred_at)::DATE AS week, how, count(*) AS lines,
               count(DISTINCT user_id) AS people FROM shifts GROUP BY ALL ORDER BY ALL
    """
    taste = ask(con, taste_query)
    newest = ask(
        con,
        """
        SELECT user_id, domain, occurred_at, coalesce(words, reason) AS told FROM shifts
        WHERE how IN ('stated', 'observed') ORDER BY occurred_at DESC, attribute_id LIMIT 1
    """,
    )
    [changed] = ask(con, "SELECT count(DISTINCT user_id) AS people FROM shifts WHERE how IN ('stated', 'observed')")
    taste_figure, taste_axes = drawn()
    taste_weeks = sorted({row["week"] for row in taste})
    taste_below = dict.fromkeys(taste_weeks, 0)
    for how in sorted({row["how"] for row in taste}):
        taste_of = {row["week"]: row["lines"] for row in taste if row["how"] == how}
        taste_axes.bar(
            [f"{week:%d %b}" for week in taste_weeks], [taste_of.get(week, 0) for week in taste_weeks],
            bottom=[taste_below[week] for week in taste_weeks], label=how,
        )  # fmt: skip
        taste_below = {week: below + taste_of.get(week, 0) for week, below in taste_below.items()}
    if taste:
        taste_axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    taste_axes.set(ylabel="lines that fell")
    said_taste = (
        f"**{changed['people']}** did; the newest is {safe(newest[0]['user_id'])} in {newest[0]['domain']} on "
        f"{newest[0]['occurred_at']:%d %B}: “{safe(newest[0]['told'])}”"
        if newest
        else "Nobody: no change of taste was stated or seen."
    )
    told("5. Who changed their taste lately?", said_taste, taste_query, taste_figure)
    return (said_taste,)


@app.cell(hide_code=True)
def _(con):
    words_query = """
        SELECT coalesce(why_not, CASE WHEN taste_changed THEN 'a change of taste' ELSE 'understood' END) AS became,
               count(*) AS corrections, any_value(text ORDER BY occurred_at DESC) FILTER (text <> '') AS example
        FROM corrections_understood GROUP BY ALL ORDER BY corrections DESC, became
    """
    words = ask(con, words_query)
    [heard] = ask(con, "SELECT count(*) AS n, count(*) FILTER (understood) AS understood FROM corrections_understood")
    words_figure, words_axes = drawn(height=0.8 + 0.4 * max(1, len(words)))
    words_axes.barh(
        [row["became"] for row in words][::-1], [row["corrections"] for row in words][::-1],
        color=[HELD if row["became"] in ("understood", "a change of taste") else FADED for row in words][::-1],
    )  # fmt: skip
    words_axes.set(xlabel="corrections")
    unheard = next((row["example"] for row in words if row["became"] == "not-understood" and row["example"]), None)
    said_words = (
        f"**{heard['understood']} of {heard['n']}** corrections were understood"
        + (f"; one that was not: “{safe(unheard)}”" if unheard else ".")
        if heard["n"]
        else "Nobody has said anything in words."
    )
    told("6. What was said, and understood?", said_words, words_query, words_figure)
    return (said_words,)


@app.cell(hide_code=True)
def _(con):
    sure_query = """
        SELECT predicted_from, sum(rankings)::INT AS rankings, sum(predicted * rankings) / sum(rankings) AS predicted,
               sum(happened * rankings) / sum(rankings) AS happened
        FROM calibration GROUP BY ALL ORDER BY predicted_from
    """
    sure = ask(con, sure_query)
    sure_figure, sure_axes = drawn(width=4.2, height=3.4)
    sure_axes.plot([0, 1], [0, 1], color=NOBODY, linewidth=0.8)
    sure_axes.scatter(
        [row["predicted"] for row in sure], [row["happened"] for row in sure],
        s=[12 + 4 * row["rankings"] for row in sure], color=HELD,
    )  # fmt: skip
    sure_axes.set(xlabel="said: nothing of it suits", ylabel="nothing was taken", xlim=(0, 1), ylim=(0, 1))
    answered = sum(row["rankings"] for row in sure)
    expected, left = (
        sum(row[what] * row["rankings"] for row in sure) / max(1, answered) for what in ("predicted", "happened")
    )
    said_sure = (
        f"Of {answered:,} lists that were answered it expected **{share(expected)}** to be left, and **{share(left)}** "
        "were; on the grey line it is right for each tenth."
        if answered
        else "No list with such a figure was answered yet."
    )
    told("7. Does it know when nothing suits?", said_sure, sure_query, sure_figure)
    return (said_sure,)


@app.cell(hide_code=True)
def _(con):
    cold_query = """
        SELECT least(choices, 10) AS choices, count(*) AS skills FROM cold_start_age
        WHERE choices IS NOT NULL GROUP BY ALL ORDER BY ALL
    """
    cold = ask(con, cold_query)
    [still] = ask(
        con,
        """
        SELECT count(*) FILTER (choices IS NULL) AS cold, count(*) AS skills, median(choices) AS median
        FROM cold_start_age
    """,
    )
    cold_figure, cold_axes = drawn()
    cold_axes.bar([row["choices"] for row in cold], [row["skills"] for row in cold], color=HELD)
    cold_axes.set(xlabel="choices until the slim skill says something (10: or more)", ylabel="skills")
    said_cold = (
        f"Half of all skills say something after **{still['median']:g}** choices or fewer; {still['cold']} of "
        f"{still['skills']} say nothing yet."
        if still["median"] is not None
        else f"None of {still['skills']} skills says anything yet."
    )
    told("8. How long is somebody new to it?", said_cold, cold_query, cold_figure)
    return (said_cold,)


@app.cell(hide_code=True)
def _(con):
    lines = ask(
        con,
        """
        SELECT user_id, attribute_id, count(*) AS events
        FROM skill_changes JOIN skill_attributes USING (user_id, domain, attribute_id)
        WHERE tier IN ('medium', 'high') GROUP BY ALL ORDER BY events DESC, user_id, attribute_id LIMIT 60
    """,
    )
    picked = mo.ui.dropdown(
        {f"{row['user_id']}: {plain(row['attribute_id'])}": (row["user_id"], row["attribute_id"]) for row in lines},
        value=f"{lines[0]['user_id']}: {plain(lines[0]['attribute_id'])}" if lines else None,
        label="whose line",
    )
    return (picked,)


@app.cell(hide_code=True)
def _(con, picked):
    why_query = """
        SELECT version, occurred_at, kind, before, after, title, item_rank FROM why($1, $2) ORDER BY version
    """
    who, line = picked.value or (None, None)
    why = ask(con, why_query, who, line) if who else []
    why_figure, why_axes = drawn()
    why_axes.step(
        [row["version"] for row in why], [TIERS.index(row["after"]) if row["after"] in TIERS else -1 for row in why],
        where="post", color=HELD, marker="o", markersize=4,
    )  # fmt: skip
    why_axes.set(yticks=range(-1, len(TIERS)), yticklabels=["gone", *TIERS], xlabel="version of the skill")
    taken = [row["title"] for row in why if row["kind"] in ("reinforced", "discovered") and row["title"]]
    titles = ", ".join(f"*{safe(each)}*" for each in taken[-3:]) or "what it tells"
    said_why = (
        f"{safe(who)}'s skill says **{safe(plain(line))}** since they took {titles}: {len(why)} events moved it, the "
        f"last one {'to ' + why[-1]['after'] if why[-1]['after'] else 'away'}, on {why[-1]['occurred_at']:%d %B}."
        if why
        else "No line has reached medium yet."
    )
    mo.vstack([told("9. Why does somebody's skill say that?", said_why, why_query, why_figure), picked])
    return (said_why,)


@app.cell(hide_code=True)
def _(con):
    refused_query = """
        SELECT stage || ': ' || reason AS what, count(*) AS records FROM dead_letters GROUP BY ALL
        ORDER BY records DESC, what LIMIT 8
    """
    refused = ask(con, refused_query)
    [gone] = ask(
        con,
        """
        SELECT count(*) AS people, coalesce(sum(lines), 0)::INT AS lines, max(occurred_at) AS newest FROM receipts
    """,
    )
    refused_figure, refused_axes = drawn(height=0.8 + 0.4 * max(1, len(refused)))
    refused_axes.barh([row["what"] for row in refused][::-1], [row["records"] for row in refused][::-1], color=FADED)
    refused_axes.set(xlabel="dead letters")
    said_gone = (
        (
            f"**{gone['people']}** requests to forget were carried out, the newest on {gone['newest']:%d %B}"
            if gone["people"]
            else "Nobody asked to be **forgotten**"
        )
        + (
            f"; {sum(row['records'] for row in refused)} records were refused, most by {safe(refused[0]['what'])}."
            if refused
            else "; no record was refused."
        )
    )  # fmt: skip
    told("10. What was forgotten, what refused?", said_gone, refused_query, refused_figure)
    return (said_gone,)


if __name__ == "__main__":
    app.run()
