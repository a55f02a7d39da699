/** A part with a lifecycle. Its constructor has no side effects. `start` is called once; dispose may be called any number of times. */
export interface Service extends AsyncDisposable {
  start(): Promise<void>;
}

/** Starts services, and disposes them in the reverse order of their start. If a start fails, disposes all services so far. */
export class ServiceStack implements AsyncDisposable {
  readonly #started: AsyncDisposable[] = [];

  /** Registers a part that needs no start, so that it is disposed in reverse order too. */
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

/** Returns a function that computes a value at its first call and caches it. Used for tables that a hub may never need. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Returns a function like `make` that caches up to `maxKept` results. Results for texts longer than `maxLength` are not cached. */
export function oncePerText<Value>(
  make: (text: string) => Value,
  { maxKept, maxLength = Infinity }: { readonly maxKept: number; readonly maxLength?: number },
): (text: string) => Value {
  const made = new Map<string, { readonly value: Value }>();
  return (text) => {
    const known = made.get(text);
    if (known) return known.value;
    const value = make(text);
    if (made.size >= maxKept) made.clear();
    if (text.length <= maxLength) made.set(text, { value });
    return value;
  };
}

/** Returns a function that computes a value once per object and caches it while the object exists. */
export function oncePerObject<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
