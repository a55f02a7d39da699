import { html, nothing, type TemplateResult } from 'lit';
import { until } from 'lit/directives/until.js';
import type { ShareCode as DeviceCodes } from '../../core/devices/device-administration.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import type { DeviceView } from '../api/hub-types.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { countdown } from '../components/formatting.ts';

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
    { title: 'Name and room', onClose },
    html`<form class="stack" @submit=${submit}>
      <label class="field"><span class="label">Name</span><input name="name" required maxlength="64" value=${device.name} autocomplete="off" /></label>
      <label class="field"><span class="label">Room</span><input name="area" maxlength="64" value=${device.area ?? ''} list="areas" autocomplete="off" /></label>
      <datalist id="areas">${areas.map((area) => html`<option value=${area}></option>`)}</datalist>
      <footer><button type="button" class="button" @click=${closeDialog}>Cancel</button><button type="submit" class="button primary">Save</button></footer>
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
    { title: others.length === 0 ? `Remove ${device.name}?` : `Remove ${leaving.length} devices?`, onClose },
    html`<form class="stack" @submit=${submit}>
      ${
        others.length === 0
          ? nothing
          : html`<p>${device.name} cannot leave alone. With it go ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}.</p>
        <label class="check"><input type="checkbox" required /><span>Remove all ${leaving.length} devices</span></label>`
      }
      <p>The device leaves this home and forgets it. Its tools end; its history stays. To come back it has to be added anew with its code.</p>
      ${isAway ? html`<label class="check"><input type="checkbox" name="force" /><span>It does not answer: forget it here all the same. The device still believes to belong here until it is reset.</span></label>` : nothing}
      <footer><button type="button" class="button" @click=${closeDialog}>Keep it</button><button type="submit" class="button danger">Remove</button></footer>
    </form>`,
  );
}

interface ShareOptions {
  readonly hub: Pick<HubClient, 'part'>;
  readonly device: DeviceView;
  readonly code: ShareCode;
  readonly onClose: () => void;
}

/** Returns the dialog that shows the code for another system, as a QR code and in digits. */
export function shareDialog({ device, code, hub, onClose }: ShareOptions): TemplateResult {
  return modalDialog(
    { title: `Share ${device.name}`, onClose },
    html`<div class="share">
      ${code.devices > 1 ? html`<p>${device.name} cannot be shared alone: the other system gets all ${code.devices} devices of its bridge.</p>` : nothing}
      <figure class="qr" role="img" aria-label="QR code to add ${device.name} elsewhere">${until(qrDrawing(code.qrCode, hub), html`<p class="quiet">One moment …</p>`)}</figure>
      <p>Scan it with the other system, or type <strong class="mono number">${code.manualCode}</strong></p>
      <p class="quiet">${Date.parse(code.expiresAt) > Date.now() ? `Can be used for ${countdown(code.expiresAt, Date.now())} more.` : 'It has expired; share the device again.'}</p>
    </div>`,
  );
}

const QUIET_MODULES = 4;

/** Returns a text as a QR code. It is black on white in every theme, because cameras may not read other colours. */
async function qrDrawing(text: string, hub: Pick<HubClient, 'part'>): Promise<TemplateResult> {
  const { default: encodeQR } = await hub.part(() => import('qr'));
  const modules = encodeQR(text, 'raw', { border: QUIET_MODULES });
  const path = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg viewBox="0 0 ${modules.length} ${modules.length}" shape-rendering="crispEdges"><path d=${path}></path></svg>`;
}
