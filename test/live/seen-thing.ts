import { OnOff } from '@matter/main/clusters/on-off';
import type { ClientNode } from '@matter/main/node';
import { Invoke } from '@matter/main/protocol';
import { type EndpointNumber, Status, StatusResponseError } from '@matter/main/types';
import { expect } from 'vitest';

type State = Readonly<Record<string, unknown>>;

/** A bridged thing as a controller sees it, found by its label. */
export class SeenThing {
  readonly #peer: ClientNode;
  readonly #label: string;

  constructor(peer: ClientNode, label: string) {
    this.#peer = peer;
    this.#label = label;
  }

  get isThere(): boolean {
    return this.#find() !== undefined;
  }

  /** Number of its endpoint. */
  get number(): number {
    return this.#require().number;
  }

  state(cluster: string): State {
    return (this.#find()?.stateOf(cluster) ?? {}) as State;
  }

  get information(): State {
    return this.state(INFORMATION);
  }

  async invoke(cluster: string, command: string, fields?: object): Promise<unknown> {
    const commands = this.#require().commandsOf(cluster) as unknown as Record<string, (fields?: object) => Promise<unknown>>;
    return commands[command]?.(fields);
  }

  async write(cluster: string, values: State): Promise<void> {
    await this.#require().setStateOf(cluster, values as never);
  }

  #find() {
    return thingsOf(this.#peer).find((one) => informationOf(one).nodeLabel === this.#label);
  }

  #require() {
    return this.#find() ?? expect.unreachable(`${this.#label} is not on the bridge`);
  }
}

const INFORMATION = 'bridgedDeviceBasicInformation';

/** Returns the endpoints of the things behind a bridge. */
export function thingsOf(peer: ClientNode) {
  return [...peer.endpoints].filter((one) => INFORMATION in one.behaviors.supported);
}

/** Returns the attributes of the bridged device's information. */
export function informationOf(endpoint: { stateOf(cluster: string): unknown }): State {
  return endpoint.stateOf(INFORMATION) as State;
}

/** Sends a command of the On/Off cluster to an endpoint, whether the controller knows it or not. Returns the name of the Matter status. */
export async function switched(peer: ClientNode, endpoint: number, command: 'on' | 'off'): Promise<string> {
  const request = Invoke({ commands: [{ endpoint: endpoint as EndpointNumber, cluster: OnOff, command }] });
  for await (const chunk of peer.interaction.invoke(request))
    for (const answer of chunk) return answer.kind === 'cmd-status' ? (Status[answer.status] ?? String(answer.status)) : 'Success';
  return expect.unreachable(`the endpoint ${endpoint} does not answer`);
}

/** Returns the name of the Matter status with which a command or write was refused; `Success` if it was not. Any other failure is thrown. */
export async function statusOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'Success';
  } catch (error) {
    const refusal = StatusResponseError.of(error) ?? expect.unreachable(String(error));
    return Status[refusal.code] ?? String(refusal.code);
  }
}
