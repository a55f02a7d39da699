/** A value that is made when it is first asked for, and then kept: for tables that a hub may never look into. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
