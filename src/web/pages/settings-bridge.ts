import { html, nothing, type TemplateResult } from 'lit';
import type { Json } from '../../core/json.ts';
import type { CallRequest } from '../app.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords, humanWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { hasText, text } from '../texts/text.ts';
import { type ShareCode, shareCodeOf, shareDialog } from './device-dialogs.ts';

/** A thing that can be bridged. `type` is `board`, `output`, `scene` or a device type. */
interface BridgeCandidate {
  readonly thing: string;
  readonly name: string;
  readonly type: string;
  readonly hub?: string;
}

/** What the ecosystems see, as `GET /api/v1/bridge` answers. */
interface BridgeView {
  readonly things: readonly {
    readonly thing: string;
    readonly name: string;
    readonly kind: string;
    readonly bridge: number;
    readonly unique_id: string;
    readonly reachable: boolean;
    readonly suspended?: 'dangerous' | 'gone' | 'widened';
  }[];
  readonly bridges: readonly { readonly bridge: number; readonly problem?: string }[];
  readonly candidates: readonly BridgeCandidate[];
}

interface EcosystemsView {
  readonly ecosystems: readonly {
    readonly ecosystem: string;
    readonly label: string;
    readonly vendor: string;
    readonly bridge: number;
    readonly joined_at: string;
  }[];
}

/** Section of the settings about other Matter ecosystems: what they see, which there are, and the code for one more. */
export class SettingsBridge extends PageElement {
  readonly #bridge = new RemoteData<BridgeView>(() => this.requestUpdate());
  readonly #ecosystems = new RemoteData<EcosystemsView>(() => this.requestUpdate());
  #code: ShareCode | undefined;

  protected override connected(): readonly Stop[] {
    this.#load();
    return [...super.connected(), this.app.calls.onEnd(({ call, result }) => this.#onEnd(call, result))];
  }

  protected override render(): TemplateResult | typeof nothing {
    const view = this.#bridge.value;
    if (!view) return nothing;
    return html`<section class="card stack" aria-labelledby="settings-bridge">
      <h2 id="settings-bridge">${text('settings.bridge')}</h2>
      <p>${text('settings.bridge_about')}</p>
      ${view.bridges.map(problemLine)}
      <ul class="tokens">${view.things.map((thing) => this.#thing(thing))}</ul>
      ${this.#form(view)}
      ${bridgesOf(view).map((bridge) => this.#opener(bridge, bridgesOf(view).length))}
      ${this.#list(this.#ecosystems.value?.ecosystems ?? [])}
      ${this.#code ? this.#dialog(this.#code) : nothing}
    </section>`;
  }

  #thing({ name, kind, unique_id: id, reachable, suspended }: BridgeView['things'][number]): TemplateResult {
    const label = text('settings.bridge_remove', { name });
    const remove = () => void this.#call({ tool: 'hub:unbridge_device', params: { thing: id }, label });
    const state = suspended ? text(`settings.bridge_suspended_${suspended}`) : text('settings.bridge_unreachable');
    return html`<li class="row"><span class="grow"><bdi>${name}</bdi>
        <span class="quiet">${bridgedKindWords(kind)}${reachable ? '' : ` · ${state}`}</span></span>
      <button type="button" class="button small" aria-label=${label} @click=${remove}>${text('settings.bridge_take_away')}</button></li>`;
  }

  #form(view: BridgeView): TemplateResult {
    return html`<form class="row" @submit=${(event: SubmitEvent) => this.#add(event, view.candidates)}>
      <label class="field grow"><span class="label">${text('settings.bridge_add')}</span>
        <select name="thing" required><option value=""></option>${view.candidates.map(
          (one, index) => html`<option value=${index}>${candidateWords(one)}</option>`,
        )}</select></label>
      <label class="row"><input type="checkbox" name="dangerous" /><span>${text('settings.bridge_dangerous')}</span></label>
      <button class="button primary">${text('settings.bridge_add_button')}</button>
    </form>`;
  }

  #opener(bridge: number, count: number): TemplateResult {
    const label = count === 1 ? text('settings.bridge_open') : text('settings.bridge_open_number', { number: bridge });
    return html`<p><button type="button" class="button" @click=${() => void this.#call({ tool: OPEN, params: { bridge }, label })}>${icon('share')}${label}</button></p>`;
  }

  #list(ecosystems: EcosystemsView['ecosystems']): TemplateResult {
    if (ecosystems.length === 0) return html`<p class="quiet">${text('settings.no_ecosystems')}</p>`;
    return html`<h3>${text('settings.ecosystems')}</h3>
      <ul class="tokens">${ecosystems.map(({ ecosystem, label: given, vendor, joined_at: at }) => {
        const label = text('settings.ecosystem_remove', { name: given === '' ? vendor : given });
        const remove = () => void this.#call({ tool: 'hub:remove_ecosystem', params: { ecosystem }, label });
        return html`<li class="row"><span class="grow"><bdi>${given === '' ? vendor : given}</bdi>
            <span class="quiet">${vendor} · <code>${ecosystem}</code> · <time datetime=${at}>${dateTimeWords(at)}</time></span></span>
          <button type="button" class="button small" aria-label=${label} @click=${remove}>${text('settings.ecosystem_take_away')}</button></li>`;
      })}</ul>`;
  }

  #dialog(code: ShareCode): TemplateResult {
    const onClose = () => {
      this.#code = undefined;
      this.#load();
    };
    return shareDialog({ hub: this.app.hub, device: { name: text('settings.bridge_name') }, code, onClose });
  }

  async #call(request: CallRequest): Promise<void> {
    this.#onEnd(request, await this.callTool(request));
  }

  /** A call that needs an approval ends later, with its result then. */
  #onEnd({ tool }: Pick<CallRequest, 'tool'>, result: Json | undefined): void {
    if (!TOOLS.has(tool)) return;
    if (tool === OPEN) this.#code = shareCodeOf(result);
    this.#load();
    this.requestUpdate();
  }

  #add(event: SubmitEvent, candidates: readonly BridgeCandidate[]): void {
    const { thing: index = '', dangerous } = formValues(event);
    const chosen = candidates[Number(index)];
    if (index === '' || !chosen) return;
    const { thing, hub, name } = chosen;
    const params = { thing, ...(hub !== undefined && { hub }), dangerous: dangerous !== undefined };
    void this.#call({ tool: 'hub:bridge_device', params, label: text('settings.bridge_show', { name }) });
  }

  #load(): void {
    const { hub } = this.app;
    void this.#bridge.load(() => hub.get<BridgeView>('/api/v1/bridge'));
    void this.#ecosystems.load(() => hub.get<EcosystemsView>('/api/v1/ecosystems'));
  }
}

const OPEN = 'hub:open_bridge';
const TOOLS: ReadonlySet<string> = new Set(['hub:bridge_device', 'hub:unbridge_device', OPEN, 'hub:remove_ecosystem']);

function problemLine({ bridge, problem }: BridgeView['bridges'][number]): TemplateResult | typeof nothing {
  return problem === undefined ? nothing : html`<p role="alert">${text('settings.bridge_problem', { number: bridge, problem })}</p>`;
}

/** Returns the numbers of the bridges that have things. */
function bridgesOf({ things }: Pick<BridgeView, 'things'>): readonly number[] {
  return [...new Set(things.map(({ bridge }) => bridge))].sort((a, b) => a - b);
}

function bridgedKindWords(kind: string): string {
  const key = `settings.bridged_${kind}`;
  return hasText(key) ? text(key) : humanWords(kind);
}

/** Returns a candidate in words: its name, what it is, and the hub that has it. */
function candidateWords({ name, type, hub }: BridgeCandidate): string {
  const kind = type === 'board' || type === 'output' || type === 'scene' ? text(`settings.bridge_${type}`) : type.replaceAll('_', ' ');
  return hub === undefined ? `${name} (${kind})` : `${name} (${kind}, ${hub})`;
}

customElements.define('atmo-settings-bridge', SettingsBridge);
