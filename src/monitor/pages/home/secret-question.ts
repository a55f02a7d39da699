import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type JsonSchema } from '../../../core/json.ts';
import type { HubClient } from '../../api/hub-client.ts';
import type { ToolView } from '../../api/hub-types.ts';
import { closeMine, modal } from '../../parts/dialog.ts';
import { fieldsOf } from '../field-value.ts';
import type { TileCall } from './tile-controls.ts';

interface Question {
  readonly call: TileCall;
  readonly field: JsonSchema;
  readonly isRequired: boolean;
  answer(secret: string | undefined): void;
}

/** Asks for what a call needs and only a person knows: the PIN of a lock. It is sent with the call and kept nowhere. */
export class SecretQuestion {
  readonly #hub: Pick<HubClient, 'get'>;
  readonly #onChange: () => void;
  #open: Question | undefined;

  constructor(hub: Pick<HubClient, 'get'>, onChange: () => void) {
    this.#hub = hub;
    this.#onChange = onChange;
  }

  /** The call with the secret that the person gave, if the tool takes one; undefined when the person changed their mind. Errors as HubError. */
  async complete(call: TileCall): Promise<TileCall | undefined> {
    const { secret: name } = call;
    if (name === undefined) return call;
    const { parameters } = await this.#hub.get<ToolView>(`/api/v1/tools/${encodeURIComponent(call.tool)}`);
    const field = isJsonObject(parameters.properties) ? parameters.properties[name] : undefined;
    if (!isJsonObject(field)) return call;
    const isRequired = Array.isArray(parameters.required) && parameters.required.includes(name);
    const given = await new Promise<string | undefined>((resolve) => this.#ask({ call, field, isRequired, answer: resolve }));
    this.#ask(undefined);
    if (given === undefined) return undefined;
    return given === '' ? call : { ...call, params: { ...call.params, [name]: given } };
  }

  view(): TemplateResult | typeof nothing {
    if (!this.#open) return nothing;
    const { call, field, isRequired, answer } = this.#open;
    const submit = (event: SubmitEvent) => {
      const { secret = '' } = fieldsOf(event);
      // Before the dialog closes, which says that nobody answered.
      answer(secret);
      closeMine(event);
    };
    return modal(
      { title: call.label, onClose: () => answer(undefined) },
      html`<form class="stack" @submit=${submit}>
        <label class="field"><span class="label">PIN</span>
          <input name="secret" type="password" inputmode="numeric" autocomplete="off" ?required=${isRequired} autofocus />
          <span class="help">${field.description}</span></label>
        <footer><button type="button" class="button" @click=${closeMine}>Cancel</button><button type="submit" class="button primary">${call.label}</button></footer>
      </form>`,
    );
  }

  #ask(question: Question | undefined): void {
    this.#open = question;
    this.#onChange();
  }
}
