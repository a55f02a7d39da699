import { html, nothing, type TemplateResult } from 'lit';
import type { AreaInfo } from '../api/hub-types.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { text } from '../texts/text.ts';
import type { TileCall } from './tile-control.ts';

interface RoomDialogOptions {
  readonly room: AreaInfo;
  /** All rooms of the home, also this one. */
  readonly rooms: readonly AreaInfo[];
  readonly onClose: () => void;
  /** Makes the calls one after the other, and stops at one that fails. */
  readonly onChange: (calls: readonly TileCall[]) => void;
}

/** Returns the dialog in which a person changes the name and floor of a room for everybody, or joins it to another room. */
export function roomDialog({ room, rooms, onClose, onChange }: RoomDialogOptions): TemplateResult {
  const others = rooms.filter(({ area }) => area !== room.area);
  const floors = [...new Set(rooms.flatMap(({ floor }) => floor ?? []))];
  const submit = (event: SubmitEvent) => {
    const { name = '', floor = '' } = formValues(event);
    closeDialog(event);
    onChange(roomChanges(room, { name, floor }));
  };
  return modalDialog(
    { title: text('home.room', { name: room.area }), onClose },
    html`<form class="stack" @submit=${submit}>
        <label class="field"><span class="label">${text('home.room_name')}</span>
          <input name="name" required maxlength="64" autocomplete="off" .value=${room.area} /></label>
        <label class="field"><span class="label">${text('home.floor')}</span>
          <input name="floor" maxlength="64" autocomplete="off" list="floors" .value=${room.floor ?? ''} /></label>
        <datalist id="floors">${floors.map((floor) => html`<option value=${floor}></option>`)}</datalist>
        <footer><button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button>
          <button type="submit" class="button primary">${text('home.save')}</button></footer>
      </form>
      ${others.length > 0 ? joinForm(room, others, onChange) : nothing}`,
  );
}

function joinForm(room: AreaInfo, others: readonly AreaInfo[], onChange: RoomDialogOptions['onChange']): TemplateResult {
  const submit = (event: SubmitEvent) => {
    const { other = '' } = formValues(event);
    closeDialog(event);
    onChange([joinCall(room.area, other)]);
  };
  return html`<form class="stack join" @submit=${submit}>
    <h3>${text('home.join_rooms')}</h3>
    <p class="quiet">${text('home.join_help', { name: room.area })}</p>
    <label class="field"><span class="label">${text('home.join_with')}</span>
      <select name="other">${others.map(({ area }) => html`<option value=${area}>${area}</option>`)}</select></label>
    <footer><button type="submit" class="button danger">${text('home.join')}</button></footer>
  </form>`;
}

/** Returns the calls that give a room another name or floor. The floor comes first, because it names the room by its present name. */
export function roomChanges({ area, floor }: AreaInfo, wanted: { readonly name: string; readonly floor: string }): readonly TileCall[] {
  const calls: TileCall[] = [];
  if (wanted.floor !== (floor ?? '')) {
    calls.push({ tool: 'hub:describe_area', params: { area, floor: wanted.floor }, label: text('home.change_floor', { name: area }) });
  }
  if (wanted.name !== '' && wanted.name !== area) {
    const label = text('home.rename_room', { name: area, wanted: wanted.name });
    calls.push({ tool: 'hub:rename_area', params: { area, name: wanted.name }, label });
  }
  return calls;
}

/** Returns the call that joins a room to another one, which keeps its name. */
export function joinCall(area: string, other: string): TileCall {
  return { tool: 'hub:rename_area', params: { area, name: other, merge: true }, label: text('home.join_room', { name: area, other }) };
}
