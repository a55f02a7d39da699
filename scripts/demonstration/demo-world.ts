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
  /** Names of the commands that the device received, in order. */
  commands(device: string): Promise<readonly string[]>;
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
  /** The same hub for whoever holds this token; without one, for the owner. */
  as(token: string): DemoHub;
}

/** The command line as the owner types it. */
export interface DemoTerminal {
  /** What `atmo` prints; throws with its complaint when it fails. */
  atmo(...args: readonly string[]): Promise<string>;
  /** An agent that speaks MCP over the stdio of `atmo mcp --agent NAME`. */
  agent(name: string): Promise<DemoAgent>;
}

/** An agent as its own program sees it. */
export interface DemoAgent extends AsyncDisposable {
  /** Names of the tools that it is shown. */
  tools(): Promise<readonly string[]>;
  /** The structured content of the answer, also of a call that failed. */
  call(tool: string, args: JsonObject): Promise<JsonObject>;
}

/** One thing that a person would try. */
export interface Step {
  readonly title: string;
  /** Throws when what happened is not what should have happened. */
  readonly run: (world: DemoWorld) => Promise<void>;
}

export interface DemoWorld {
  readonly devices: readonly BoxedDevice[];
  readonly hub: DemoHub;
  readonly home: DemoHome;
  readonly terminal: DemoTerminal;
  /** A hub without devices on another machine of the network. */
  readonly second: { readonly hub: DemoHub; readonly terminal: DemoTerminal };
  say(line: string): void;
}
