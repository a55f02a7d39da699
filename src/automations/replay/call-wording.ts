import { previewCalls } from '../../calls/call-preview.ts';
import type { CallRequest } from '../../calls/request-and-answer.ts';
import { readsIn, targetText } from '../../core/devices/action-descriptions.ts';
import { objectOf } from '../../core/json.ts';
import type { CheckPorts } from '../automation-ports.ts';

/** Longest list of different calls whose words are kept. */
const MAX_KEPT = 200;

/** Says in words what calls would do. Nothing is called. */
export class CallWording {
  readonly #ports: CheckPorts;
  readonly #known = new Map<string, string>();

  constructor(ports: CheckPorts) {
    this.#ports = ports;
  }

  /** Returns what a call would do, such as `Turn on Hall lamp (hall)`; the name of the tool if that is not known. */
  wordsOf(request: CallRequest): string {
    const key = JSON.stringify([request.tool, request.params]);
    const known = this.#known.get(key) ?? this.#worded(request);
    if (this.#known.size < MAX_KEPT) this.#known.set(key, known);
    return known;
  }

  #worded({ tool, params, principal }: CallRequest): string {
    try {
      const effects = previewCalls(this.#ports, { tool, params: objectOf(params), viewer: principal }).flatMap((call) => call.effects);
      const devices = effects.flatMap(({ device }) => (device === undefined ? [] : (this.#ports.facts.namedDevice(device) ?? [])));
      const text = targetText(
        effects.map(({ target }) => target),
        [...new Map(devices.map((device) => [device.id, device])).values()],
        { reads: readsIn(effects) },
      );
      return text === '' ? tool : text;
    } catch {
      return tool;
    }
  }
}
