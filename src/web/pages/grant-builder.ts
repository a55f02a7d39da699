import { html, nothing, type TemplateResult } from 'lit';
import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import { icon } from '../components/icon.ts';
import { DEVICE_FAMILIES, GRANT_ACTIONS, type GrantAction, type GrantScope, grantInWords, grantOf, typedGrants } from './tokens.ts';

/** The input of `grantBuilder`. `grants` are the chosen permissions. `areas` and `devices` are the scopes that a person can choose. */
export interface GrantBuilder {
  readonly grants: readonly string[];
  readonly areas: readonly string[];
  readonly devices: readonly NamedDevice[];
  onChange(grants: readonly string[]): void;
}

const ACTIONS = Object.entries(GRANT_ACTIONS) as readonly (readonly [GrantAction, string])[];

/** Returns a form that adds and removes permissions. A person selects the action and the scope of a permission, or types the permission. */
export function grantBuilder(builder: GrantBuilder): TemplateResult {
  const { grants, areas, devices } = builder;
  return html`<fieldset class="grants">
    <legend>What it may do</legend>
    ${grants.length === 0 ? html`<p class="quiet">Nothing yet. Add what it needs and no more.</p>` : nothing}
    <ul class="grant-list">${grants.map((grant) => grantRow(grant, builder))}</ul>
    <div class="row" @keydown=${(event: KeyboardEvent) => addOnEnter(event, builder)}>
      <label class="field"><span class="label">May</span>
        <select data-choice="action">${ACTIONS.map(([action, title]) => html`<option value=${action}>${title}</option>`)}</select></label>
      <label class="field grow"><span class="label">Of</span>
        <select data-choice="scope">
          <option value="all">All devices</option>
          ${group(
            'Rooms',
            areas.map((area) => [`area/${area}`, area]),
          )}
          ${group(
            'Kinds',
            DEVICE_FAMILIES.map((type) => [`type/${type}`, type]),
          )}
          ${group(
            'Devices',
            devices.map(({ id, name }) => [`device/${id}`, name]),
          )}
        </select></label>
      <button type="button" class="button" @click=${(event: Event) => addChosen(event, builder)}>${icon('plus')}Add</button>
    </div>
    <details><summary>By hand</summary>
      <div class="row" data-hand @keydown=${(event: KeyboardEvent) => addOnEnter(event, builder)}>
        <label class="field grow"><span class="label">Permissions</span><input data-choice="typed" autocomplete="off" spellcheck="false" placeholder="device:control:hall-lamp" /></label>
        <button type="button" class="button" @click=${(event: Event) => addTyped(event, builder)}>${icon('plus')}Add</button>
      </div></details>
  </fieldset>`;
}

function grantRow(grant: string, { grants, devices, onChange }: GrantBuilder): TemplateResult {
  return html`<li class="row"><span class="grow">${grantInWords(grant, devices)} <code>${grant}</code></span>
    <button type="button" class="button small plain" aria-label="Take out ${grant}" @click=${() => onChange(grants.filter((one) => one !== grant))}>${icon('close')}</button></li>`;
}

function group(label: string, options: readonly (readonly [string, string])[]): TemplateResult | typeof nothing {
  if (options.length === 0) return nothing;
  return html`<optgroup label=${label}>${options.map(([value, title]) => html`<option value=${value}>${title}</option>`)}</optgroup>`;
}

/** Adds a permission when Enter is pressed. Without this, Enter would submit the form that contains the field. */
function addOnEnter(event: KeyboardEvent, builder: GrantBuilder): void {
  if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement)) return;
  event.preventDefault();
  if (event.target.dataset.choice === 'typed') addTyped(event, builder);
  else addChosen(event, builder);
}

function addChosen(event: Event, builder: GrantBuilder): void {
  const action = choiceOf(event, 'action')?.value ?? '';
  const grant = grantOf(action as GrantAction, scopeOf(choiceOf(event, 'scope')?.value ?? 'all'));
  add([grant], builder);
}

function addTyped(event: Event, builder: GrantBuilder): void {
  const field = choiceOf(event, 'typed');
  if (!(field instanceof HTMLInputElement)) return;
  const { grants, mistakes } = typedGrants(field.value);
  field.setCustomValidity(mistakes.length > 0 ? `Not a permission that can be granted: ${mistakes.join(', ')}` : '');
  field.reportValidity();
  add(grants, builder);
  field.value = mistakes.join(' ');
  field.addEventListener('input', () => field.setCustomValidity(''), { once: true });
}

function add(more: readonly string[], { grants, onChange }: GrantBuilder): void {
  onChange([...new Set([...grants, ...more])]);
}

function choiceOf({ target }: Event, name: string): HTMLInputElement | HTMLSelectElement | null | undefined {
  return target instanceof Element ? target.closest('.row')?.querySelector(`[data-choice=${name}]`) : undefined;
}

function scopeOf(value: string): GrantScope {
  const [kind, ...rest] = value.split('/');
  const name = rest.join('/');
  if (kind === 'area') return { kind, area: name };
  if (kind === 'type') return { kind, type: name };
  if (kind === 'device') return { kind, device: name };
  return { kind: 'all' };
}
