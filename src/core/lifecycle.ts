/** A part of the hub that is started and disposed. Its constructor has no side effects. Only dispose may be called more than once. */
export interface Service extends AsyncDisposable {
  start(): Promise<void>;
}

/** Starts services, and disposes them in reverse order. If a start fails, disposes that service and all services before it. */
export class ServiceStack implements AsyncDisposable {
  readonly #started: AsyncDisposable[] = [];

  /** Registers a part that needs no start. The part is disposed together with the services, in reverse order. */
  own(part: AsyncDisposable): void {
    this.#started.push(part);
  }

  async start(service: Service): Promise<void> {
    this.#started.push(service);
    try {
      await service.start();
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (let service = this.#started.pop(); service; service = this.#started.pop()) {
      try {
        await service[Symbol.asyncDispose]();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

/** Returns a function that calls `make` at its first call and caches the value. Used for tables that a hub may never need. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

interface CacheLimits {
  readonly maxKept: number;
  readonly maxLength?: number;
  /** Returns what is kept in place of a text, such as its hash if the text may be secret. */
  readonly keyOf?: (text: string) => string;
}

/** Returns a function like `make` that caches up to `maxKept` results. It does not cache results for texts longer than `maxLength`. */
export function oncePerText<Value>(
  make: (text: string) => Value,
  { maxKept, maxLength = Infinity, keyOf = (text) => text }: CacheLimits,
): (text: string) => Value {
  const made = new Map<string, { readonly value: Value }>();
  return (text) => {
    if (text.length > maxLength) return make(text);
    const key = keyOf(text);
    const known = made.get(key);
    if (known) return known.value;
    const value = make(text);
    if (made.size >= maxKept) made.clear();
    made.set(key, { value });
    return value;
  };
}

/** Returns a function like `make` that caches one result for each object, for as long as the object exists. */
export function oncePerObject<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key);
    if (known) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
