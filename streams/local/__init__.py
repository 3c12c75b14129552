"""The whole pipeline on one machine: the embedded broker, the processes, their readiness."""
