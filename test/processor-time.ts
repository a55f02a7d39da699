/**
 * Milliseconds that the processor worked in this thread for `work`. A bound on it says how much there is to do, however busy
 * others keep the machine, which a bound on time by the wall does not.
 */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
