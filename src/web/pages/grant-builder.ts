import { html, nothing, type TemplateResult } from 'lit';
import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import { DEVICE_FAMILIES, GRANT_ACTIONS, type GrantAction, type GrantScope, grantInWords, grantOf, typedGrants } from './tokens.ts';

/** The input of `grantBuilder`. `grants` are the chosen permissions. `areas` and `devices` are the scopes that a person can choose. */
export interface GrantBuilder {
  readonly grants: readonly string[];
  readonly areas: readonly string[];
  readonly devices: readonly NamedDevice[];
  onChange(grants: readonly string[]): void;
}

/** Returns a form that adds and removes permissions. A person selects the action and the scope of a permission, or types the permission. */
export function grantBuilder(builder: GrantBuilder): TemplateResult {
  const { grants, areas, devices } = builder;
  return html`<fieldset class="grants">
    <legend>${text('tokens.may_do')}</legend>
    ${grants.length === 0 ? html`<p class="quiet">${text('tokens.may_nothing')}</p>` : nothing}
    <ul class="grant-list">${grants.map((grant) => grantRow(grant, builder))}</ul>
    <div class="row" @keydown=${(event: KeyboardEvent) => addOnEnter(event, builder)}>
      <label class="field"><span class="label">${text('tokens.may')}</span>
        <select data-choice="action">${GRANT_ACTIONS.map((action) => html`<option value=${action}>${text(`tokens.action_${action}`)}</option>`)}</select></label>
      <label class="field grow"><span class="label">${text('tokens.of')}</span>
        <select data-choice="scope">
          <option value="all">${text('tokens.all_devices')}</option>
          ${group(
            text('tokens.rooms'),
            areas.map((area) => [`area/${area}`, area]),
          )}
          ${group(
            text('tokens.kinds'),
            DEVICE_FAMILIES.map((type) => [`type/${type}`, text(`tokens.family_${type}`)]),
          )}
          ${group(
            text('tokens.devices'),
            devices.map(({ id, name }) => [`device/${id}`, name]),
          )}
        </select></label>
      <button type="button" class="button" @click=${(event: Event) => addChosen(event, builder)}>${icon('plus')}${text('forms.add')}</button>
    </div>
    <details><summary>${text('tokens.by_hand')}</summary>
      <div class="row" data-hand @keydown=${(event: KeyboardEvent) => addOnEnter(event, builder)}>
        <label class="field grow"><span class="label">${text('tokens.permissions')}</span><input data-choice="typed" autocomplete="off" spellcheck="false" placeholder="device:control:hall-lamp" /></label>
        <button type="button" class="button" @click=${(event: Event) => addTyped(event, builder)}>${icon('plus')}${text('forms.add')}</button>
      </div></details>
  </fieldset>`;
}

function grantRow(grant: string, { grants, devices, onChange }: GrantBuilder): TemplateResult {
  return html`<li class="row"><span class="grow">${grantInWords(grant, devices)} <code>${grant}</code></span>
    <button type="button" class="button small plain" aria-label=${text('tokens.take_out', { grant })} @click=${() => onChange(grants.filter((one) => one !== grant))}>${icon('close')}</button></li>`;
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
  field.setCustomValidity(mistakes.length > 0 ? text('tokens.not_grantable', { grants: mistakes.join(', ') }) : '');
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
