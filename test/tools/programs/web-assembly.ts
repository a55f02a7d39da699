interface Memory {
  readonly buffer: ArrayBuffer;
}

interface Instance {
  readonly exports: Readonly<Record<string, unknown>>;
}

interface ModuleClass {
  new (code: Uint8Array): object;
  exports(module: object): readonly { readonly name: string; readonly kind: string }[];
}

/** What Node's own types leave out. */
export const webAssembly = Reflect.get(globalThis, 'WebAssembly') as {
  readonly Module: ModuleClass;
  readonly Instance: new (module: object) => Instance;
  readonly Memory: new (limits: object) => Memory;
  validate(code: Uint8Array): boolean;
};
