/** A liveness check that asks the hub's own health page over the network stack: true when it answers 200. */
export function answersHttp(url: string, timeoutMs: number): () => Promise<boolean> {
  return async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.ok;
  };
}
