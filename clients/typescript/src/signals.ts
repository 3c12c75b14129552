/**
 * A controller that is aborted with another signal too; `unlink` ends that.
 *
 * By hand rather than by `AbortSignal.any`, so that the listener goes with its request: a signal may live for days.
 */
export function linked(signal: AbortSignal | undefined): { controller: AbortController; unlink: () => void } {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  return { controller, unlink: () => signal?.removeEventListener("abort", onAbort) };
}
