import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject, type JsonSchema } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import type { ToolView } from '../api/hub-types.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { text } from '../texts/text.ts';
import { filledCall, type TileCall } from './tile-control.ts';

interface Question {
  readonly call: TileCall;
  readonly field: JsonSchema;
  readonly isRequired: boolean;
  readonly answer: (secret: string | undefined) => void;
}

/**
 * Completes the calls of tiles. Takes from the definition of a tool what only the device knows, such as its mode for cleaning. Asks the
 * person for a secret that a call needs, such as the PIN of a lock. The secret is sent with the call, and is not stored.
 */
export class CallCompletion {
  readonly #hub: Pick<HubClient, 'get'>;
  readonly #onChange: () => void;
  #open: Question | undefined;

  constructor(hub: Pick<HubClient, 'get'>, onChange: () => void) {
    this.#hub = hub;
    this.#onChange = onChange;
  }

  /**
   * Returns the call with all its parameters, or undefined if the person cancels. Throws NOT_SUPPORTED if the device has no fitting value
   * for a parameter, and HubError if the definition of the tool cannot be loaded.
   */
  async completeCall(call: TileCall): Promise<TileCall | undefined> {
    if (call.secret === undefined && call.fill === undefined) return call;
    const { parameters } = await this.#hub.get<ToolView>(`/api/v1/tools/${encodeURIComponent(call.tool)}`);
    return this.#withSecret(filledCall(call, parameters), parameters);
  }

  view(): TemplateResult | typeof nothing {
    return this.#open ? secretDialog(this.#open) : nothing;
  }

  async #withSecret(call: TileCall, parameters: JsonSchema): Promise<TileCall | undefined> {
    const { secret: name } = call;
    const field = name !== undefined && isJsonObject(parameters.properties) ? parameters.properties[name] : undefined;
    if (name === undefined || !isJsonObject(field)) return call;
    const isRequired = Array.isArray(parameters.required) && parameters.required.includes(name);
    const given = await new Promise<string | undefined>((resolve) => this.#ask({ call, field, isRequired, answer: resolve }));
    this.#ask(undefined);
    if (given === undefined) return undefined;
    return given === '' ? call : { ...call, params: { ...call.params, [name]: given } };
  }

  #ask(question: Question | undefined): void {
    this.#open = question;
    this.#onChange();
  }
}

function secretDialog({ call, field, isRequired, answer }: Question): TemplateResult {
  const submit = (event: SubmitEvent) => {
    const { secret = '' } = formValues(event);
    // The secret is passed on before the dialog closes, because closing the dialog without an answer cancels the call.
    answer(secret);
    closeDialog(event);
  };
  return modalDialog(
    { title: call.label, onClose: () => answer(undefined) },
    html`<form class="stack" @submit=${submit}>
      <label class="field"><span class="label">${text('tiles.pin')}</span>
        <input name="secret" type="password" inputmode="numeric" autocomplete="off" ?required=${isRequired} autofocus />
        <span class="help">${field.description}</span></label>
      <footer><button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button>
        <button type="submit" class="button primary">${call.label}</button></footer>
    </form>`,
  );
}
