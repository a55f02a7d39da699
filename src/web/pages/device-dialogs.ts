import { html, nothing, type TemplateResult } from 'lit';
import { until } from 'lit/directives/until.js';
import type { ShareCode as DeviceCodes } from '../../core/devices/device-administration.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import type { DeviceView } from '../api/hub-types.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { countdown } from '../components/formatting.ts';
import { text, textWith } from '../texts/text.ts';

/** The codes with which another system can add the device too. `devices` is the number of devices that the other system then gets. */
export type ShareCode = DeviceCodes & { readonly devices: number };

/** Returns the codes in a result of `hub:share_device`. Returns undefined for any other result. */
export function shareCodeOf(result: Json | undefined): ShareCode | undefined {
  if (!isJsonObject(result)) return undefined;
  const { qr_code: qrCode, manual_code: manualCode, expires_at: expiresAt, devices } = result;
  const isWhole = typeof qrCode === 'string' && typeof manualCode === 'string' && typeof expiresAt === 'string';
  return isWhole ? { qrCode, manualCode, expiresAt, devices: typeof devices === 'number' ? devices : 1 } : undefined;
}

interface EditOptions {
  readonly device: DeviceView;
  readonly areas: readonly string[];
  readonly onClose: () => void;
  readonly onSave: (change: { readonly name: string; readonly area: string }) => void;
}

/** Returns the dialog in which a person changes the name and the room of a device. */
export function editDialog({ device, areas, onClose, onSave }: EditOptions): TemplateResult {
  const submit = (event: SubmitEvent) => {
    const { name = '', area = '' } = formValues(event);
    closeDialog(event);
    onSave({ name, area });
  };
  return modalDialog(
    { title: text('devices.edit'), onClose },
    html`<form class="stack" @submit=${submit}>
      <label class="field"><span class="label">${text('devices.name')}</span><input name="name" required maxlength="64" value=${device.name} autocomplete="off" /></label>
      <label class="field"><span class="label">${text('devices.room')}</span><input name="area" maxlength="64" value=${device.area ?? ''} list="areas" autocomplete="off" /></label>
      <datalist id="areas">${areas.map((area) => html`<option value=${area}></option>`)}</datalist>
      <footer><button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button><button type="submit" class="button primary">${text('forms.save')}</button></footer>
    </form>`,
  );
}

interface RemoveOptions {
  readonly device: DeviceView;
  /** The devices that are removed together: first this device, then the other devices of its Matter node. */
  readonly leaving: readonly DeviceView[];
  readonly onClose: () => void;
  readonly onRemove: (options: { readonly isForced: boolean }) => void;
}

const NAMED_LEAVING = 8;

/** Returns the device, followed by the other devices of its Matter node. The devices of a Matter node can only be removed together. */
export function leavingWith(device: DeviceView, all: readonly DeviceView[]): readonly DeviceView[] {
  const others = all.filter(({ id, matter_node_id: node }) => id !== device.id && node === device.matter_node_id);
  return [device, ...others];
}

/** Returns the dialog that asks whether to remove a device. It also names the devices that are removed with it. */
export function removeDialog({ device, leaving, onClose, onRemove }: RemoveOptions): TemplateResult {
  const isAway = device.reachability === 'unreachable';
  const [, ...others] = leaving;
  const named = others.slice(0, NAMED_LEAVING).map(({ name }) => name);
  const more = others.length - named.length;
  const submit = (event: SubmitEvent) => {
    const isForced = formValues(event).force === 'on';
    closeDialog(event);
    onRemove({ isForced });
  };
  return modalDialog(
    {
      title:
        others.length === 0 ? text('devices.remove_one', { name: device.name }) : text('devices.remove_many', { count: leaving.length }),
      onClose,
    },
    html`<form class="stack" @submit=${submit}>
      ${
        others.length === 0
          ? nothing
          : html`<p>${text('devices.leaves_with', { name: device.name, others: named.join(', ') })}${more > 0 ? ` ${text('devices.leaves_more', { count: more })}` : nothing}</p>
        <label class="check"><input type="checkbox" required /><span>${text('devices.remove_all', { count: leaving.length })}</span></label>`
      }
      <p>${text('devices.remove_about')}</p>
      ${isAway ? html`<label class="check"><input type="checkbox" name="force" /><span>${text('devices.remove_forced')}</span></label>` : nothing}
      <footer><button type="button" class="button" @click=${closeDialog}>${text('devices.keep')}</button><button type="submit" class="button danger">${text('devices.remove')}</button></footer>
    </form>`,
  );
}

interface ReplaceOptions {
  readonly device: DeviceView;
  /** The devices that may take its place. */
  readonly candidates: readonly DeviceView[];
  /** What goes on with the new device, in words; empty if nothing uses the old one, or while that is not known. */
  readonly users: string;
  readonly onClose: () => void;
  readonly onReplace: (choice: { readonly by: string; readonly isConfirmed: boolean }) => void;
}

/** Returns the dialog in which a person chooses the device that takes the place of this one. It says what moves, and that it is final. */
export function replaceDialog({ device, candidates, users, onClose, onReplace }: ReplaceOptions): TemplateResult {
  const submit = (event: SubmitEvent) => {
    const { by = '', confirm } = formValues(event);
    closeDialog(event);
    onReplace({ by, isConfirmed: confirm === 'on' });
  };
  const title = text('devices.replace_label', { name: device.name });
  const content =
    candidates.length === 0
      ? html`<p>${text('devices.replace_none')}</p>`
      : html`<form class="stack" @submit=${submit}>
      <p><span class="label">${text('devices.replace_old')}</span><br /><bdi>${titleOf(device)}</bdi></p>
      <label class="field"><span class="label">${text('devices.replace_by')}</span>
        <select name="by" required>${candidates.map((one) => html`<option value=${one.id}>${titleOf(one)}</option>`)}</select></label>
      <p>${text('devices.replace_about')}${users === '' ? nothing : ` ${text('devices.replace_uses', { users })}`}</p>
      <p><strong>${text('devices.replace_final', { name: device.name })}</strong></p>
      <label class="check"><input type="checkbox" name="confirm" /><span>${text('devices.replace_confirm')}</span></label>
      <footer><button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button><button type="submit" class="button danger">${text('devices.replace')}</button></footer>
    </form>`;
  return modalDialog({ title, onClose }, content);
}

function titleOf({ name, area }: DeviceView): string {
  return area === null ? name : `${name} – ${area}`;
}

interface ShareOptions {
  readonly hub: Pick<HubClient, 'part'>;
  readonly device: Pick<DeviceView, 'name'>;
  readonly code: ShareCode;
  readonly onClose: () => void;
}

/** Returns the dialog that shows the code for another system, as a QR code and in digits. */
export function shareDialog({ device, code, hub, onClose }: ShareOptions): TemplateResult {
  return modalDialog(
    { title: text('devices.share_title', { name: device.name }), onClose },
    html`<div class="share">
      ${code.devices > 1 ? html`<p>${text('devices.share_bridge', { name: device.name, count: code.devices })}</p>` : nothing}
      <figure class="qr" role="img" aria-label=${text('devices.share_qr', { name: device.name })}>${until(qrDrawing(code.qrCode, hub), html`<p class="quiet">${text('shell.wait')}</p>`)}</figure>
      <p>${textWith('devices.share_scan', { code: html`<strong class="mono number">${code.manualCode}</strong>` })}</p>
      <p class="quiet">${Date.parse(code.expiresAt) > Date.now() ? text('devices.share_left', { time: countdown(code.expiresAt, Date.now()) }) : text('devices.share_over')}</p>
    </div>`,
  );
}

const QUIET_MODULES = 4;

/** Returns a text as a QR code. It is black on white in every theme, because cameras may not read other colours. */
async function qrDrawing(content: string, hub: Pick<HubClient, 'part'>): Promise<TemplateResult> {
  const { default: encodeQR } = await hub.part(() => import('qr'));
  const modules = encodeQR(content, 'raw', { border: QUIET_MODULES });
  const path = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg viewBox="0 0 ${modules.length} ${modules.length}" shape-rendering="crispEdges"><path d=${path}></path></svg>`;
}
