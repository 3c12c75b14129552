"""The query box: one reading statement, answered by a process of its own that is started for it.

`child` is that process, `asking` starts it, reads what it says and ends it; `choice` picks a chart, `names` lists what
can be asked, `files` makes CSV.
"""
