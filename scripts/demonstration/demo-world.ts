import type { Json, JsonObject } from '../../src/core/json.ts';

/** A device of the virtual home, as its box would tell. */
export interface BoxedDevice {
  readonly name: string;
  readonly area: string;
  readonly pairing: { readonly manualCode: string; readonly qrCode: string };
}

/** The virtual home from outside: asks and sets what the devices' own processes hold, in raw Matter units. */
export interface DemoHome {
  get(where: DevicePlace): Promise<unknown>;
  set(where: DevicePlace, value: Json): Promise<void>;
  powerOff(device: string): Promise<void>;
  powerOn(device: string): Promise<void>;
}

export interface DevicePlace {
  readonly device: string;
  /** Endpoint number or part id. */
  readonly endpoint: number | string;
  readonly cluster: string;
  readonly attribute: string;
}

/** The hub through its HTTP API on this machine's 127.0.0.1. */
export interface DemoHub {
  readonly url: string;
  get(path: string): Promise<JsonObject>;
  /** Answers the invoke envelope, also of a call that failed. */
  call(tool: string, params: JsonObject): Promise<JsonObject>;
  commission(device: BoxedDevice, code: string): Promise<readonly string[]>;
}

export interface DemoWorld {
  readonly devices: readonly BoxedDevice[];
  readonly hub: DemoHub;
  readonly home: DemoHome;
  say(line: string): void;
}
