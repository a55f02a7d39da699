/**
 * Functions that the sources use and Node 20 lacks; the client package runs on both. `client.ts` imports this module before all others.
 * Each is only added where it is missing.
 */

// Promise.withResolvers of ECMAScript 2024.
Promise.withResolvers ??= function withResolvers<T>() {
  let resolve: PromiseWithResolvers<T>['resolve'] = () => undefined;
  let reject: PromiseWithResolvers<T>['reject'] = () => undefined;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
};

// Map.groupBy of ECMAScript 2024.
Map.groupBy ??= function groupBy<Key, Item>(items: Iterable<Item>, keyOf: (item: Item, index: number) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  let index = 0;
  for (const item of items) {
    const key = keyOf(item, index++);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
};

// URL.parse of the URL standard.
URL.parse ??= function parse(text: string, base?: string): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null;
};
