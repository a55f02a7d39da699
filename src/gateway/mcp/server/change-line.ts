import { randomUUID } from 'node:crypto';
import type { Principal } from '../../../core/access/principal.ts';
import { type AtmoError, toAtmoError } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import type { McpFeature, McpListener } from '../mcp-feature.ts';
import type { McpView } from '../mcp-view.ts';
import type { Notice, OpenLine } from './open-lines.ts';

type Listener = (notice: Notice) => void;

/** A stream of `subscriptions/listen` (2026-07-28): hears of changes as the bus that the SDK asks for one client. */
export class ChangeLine implements OpenLine {
  readonly id = randomUUID();
  readonly principal: Principal;
  readonly view: McpView;
  /** Ends the stream; set once there is one. */
  onClose: () => Promise<void> = async () => {};
  readonly #listeners = new Set<Listener>();

  constructor({ principal, view }: McpListener) {
    this.principal = principal;
    this.view = view;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Only the hub publishes, by `tell`. */
  publish(): void {}

  tell(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  close(): Promise<void> {
    return this.onClose();
  }
}

/** Why a stream of these resources would stay silent; undefined where all of them are told of. */
export function refusedSubscription(features: readonly McpFeature[], { params }: JsonObject, listener: McpListener): AtmoError | undefined {
  const { notifications } = isJsonObject(params) ? params : {};
  const wanted = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  if (!Array.isArray(wanted)) return undefined;
  const uris = wanted.filter((uri) => typeof uri === 'string');
  try {
    for (const feature of features) feature.admitSubscriptions?.(uris, listener);
    return undefined;
  } catch (thrown) {
    return toAtmoError(thrown);
  }
}
