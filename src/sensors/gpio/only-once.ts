/** The call, which does nothing from the second time on: who gives a line back once more must not take it from its next owner. */
export function onlyOnce(call: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    call();
  };
}
