import { html, type TemplateResult } from 'lit';
import type { SceneInfo } from '../api/hub-types.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import type { AreaView } from './home-areas.ts';
import { actionWords, changeScene, deleteScene, newScene, recaptureScene } from './home-scenes.ts';
import type { TileCall } from './tile-control.ts';

interface DialogEnd {
  readonly onClose: () => void;
  /** Makes the call. */
  readonly onCall: (call: TileCall) => void;
}

/** Returns the dialog that saves a scene from what the home is now. */
export function newSceneDialog({ rooms, onClose, onCall }: DialogEnd & { readonly rooms: readonly AreaView[] }): TemplateResult {
  const submit = (event: SubmitEvent) => {
    const { name = '', ...fields } = formValues(event);
    closeDialog(event);
    const chosen = rooms.filter((_room, index) => fields[`room${index}`] === 'on').map((room) => room.name);
    onCall(newScene(name, chosen, rooms));
  };
  return modalDialog(
    { title: text('home.new_scene'), onClose },
    html`<form class="stack" @submit=${submit}>
      <p>${text('home.scene_from_now')}</p>
      <label class="field"><span class="label">${text('home.scene_name')}</span>
        <input name="name" required maxlength="64" autocomplete="off" placeholder=${text('home.good_night')} autofocus /></label>
      <fieldset class="checks"><legend>${text('home.scene_rooms')}</legend>${rooms.map(
        (room, index) =>
          html`<label class="check"><input type="checkbox" name="room${index}" checked /><span><bdi>${room.name}</bdi></span></label>`,
      )}</fieldset>
      <p class="quiet">${text('home.scene_without')}</p>
      <footer><button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button>
        <button type="submit" class="button primary">${text('home.save')}</button></footer>
    </form>`,
  );
}

/** Returns the dialog that changes or deletes a scene. */
export function sceneDialog({ scene, onClose, onCall }: DialogEnd & { readonly scene: SceneInfo }): TemplateResult {
  const submit = (event: SubmitEvent) => {
    const { name = '', ...fields } = formValues(event);
    closeDialog(event);
    const call = changeScene(scene, { name, kept: scene.actions.filter((_action, index) => fields[`action${index}`] === 'on') });
    if (call) onCall(call);
  };
  const end = (call: TileCall) => (event: Event) => {
    closeDialog(event);
    onCall(call);
  };
  return modalDialog(
    { title: text('home.scene', { name: scene.name }), onClose },
    html`<form class="stack" @submit=${submit}>
        <label class="field"><span class="label">${text('home.scene_name')}</span>
          <input name="name" required maxlength="64" autocomplete="off" .value=${scene.name} /></label>
        <fieldset class="checks"><legend>${text('home.scene_does')}</legend>${scene.actions.map(
          (action, index) =>
            html`<label class="check"><input type="checkbox" name="action${index}" checked /><span><bdi>${actionWords(action)}</bdi></span></label>`,
        )}</fieldset>
        <footer><button type="button" class="button" @click=${end(recaptureScene(scene))}>${icon('refresh')}${text('home.scene_take_now')}</button>
          <button type="submit" class="button primary">${text('home.save')}</button></footer>
      </form>
      <details class="join"><summary>${text('home.scene_delete')}</summary>
        <p class="quiet">${text('home.scene_delete_help')}</p>
        <button type="button" class="button danger" @click=${end(deleteScene(scene))}>${deleteScene(scene).label}</button></details>`,
  );
}
