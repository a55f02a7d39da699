import type { Locator } from 'playwright-core';
import type { OpenPage } from './open-page.ts';
import type { Words } from './spoken.ts';

/** What opens a dialog of the page. */
interface DialogOpener {
  readonly name: string;
  /** The file below `src/web` that draws it. */
  readonly source: string;
  readonly route: string;
  /** Only on a phone, where the navigation has no room for all pages. */
  readonly isOnPhone?: true;
  readonly open: (opened: OpenPage, say: Words) => Promise<void>;
}

const LAMP = 'Living room lamp';
const DOOR = 'Front door';

const byName = (opened: OpenPage, name: string): Locator => opened.page.getByRole('button', { name, exact: true }).first();
const press = (opened: OpenPage, name: string): Promise<void> => byName(opened, name).click();

async function pressWhileEditing(opened: OpenPage, say: Words, name: string): Promise<void> {
  const edit = byName(opened, say('home.edit'));
  if (await edit.isVisible()) await edit.click();
  await press(opened, name);
}

/** Dialogs of the page that open from a furnished home. Others only happen in a story (`test/web/pages/dialogs.test.ts`). */
export const DIALOGS: readonly DialogOpener[] = [
  { name: 'menu', source: 'shell.ts', route: 'home', isOnPhone: true, open: (opened, say) => press(opened, say('shell.more')) },
  {
    name: 'controls',
    source: 'pages/home-page.ts',
    route: 'home',
    open: async ({ page }) => page.getByRole('article', { name: LAMP }).getByText(LAMP, { exact: true }).click(),
  },
  {
    name: 'new-scene',
    source: 'pages/scene-dialog.ts',
    route: 'home',
    open: (opened, say) => pressWhileEditing(opened, say, say('home.new_scene')),
  },
  {
    name: 'scene',
    source: 'pages/scene-dialog.ts',
    route: 'home',
    open: (opened, say) => pressWhileEditing(opened, say, say('home.change_scene', { name: 'Good night' })),
  },
  {
    name: 'room',
    source: 'pages/room-dialog.ts',
    route: 'home',
    open: (opened, say) => pressWhileEditing(opened, say, say('home.room_settings', { name: 'Hall' })),
  },
  {
    name: 'device-name',
    source: 'pages/device-dialogs.ts',
    route: 'devices/living-room-lamp',
    open: (opened, say) => press(opened, say('devices.edit')),
  },
  {
    name: 'device-removal',
    source: 'pages/device-dialogs.ts',
    route: 'devices/living-room-lamp',
    open: (opened, say) => press(opened, say('devices.remove')),
  },
  {
    name: 'device-share',
    source: 'pages/device-dialogs.ts',
    route: 'devices/living-room-lamp',
    open: async (opened, say) => {
      await press(opened, say('devices.share'));
      // Once it was shared, the code is there without another question.
      const agree = byName(opened, say('approvals.approve_and_do'));
      const code = opened.page.getByRole('img', { name: say('devices.share_qr', { name: LAMP }) });
      await agree.or(code).waitFor();
      if (await agree.isVisible()) await opened.decide(agree);
      await code.waitFor();
    },
  },
  {
    name: 'pin',
    source: 'pages/call-completion.ts',
    route: 'devices/front-door',
    open: (opened, say) => press(opened, say('tiles.do_unlock', { name: DOOR })),
  },
  {
    name: 'question',
    source: 'shell.ts',
    route: 'devices/front-door',
    open: async (opened, say) => {
      await press(opened, say('tiles.do_unlock', { name: DOOR }));
      await opened.page.getByLabel(say('tiles.pin')).fill('1234');
      await opened.page
        .getByRole('dialog')
        .getByRole('button', { name: say('tiles.do_unlock', { name: DOOR }) })
        .click();
      await opened.page.getByText(say('approvals.approve_and_do')).waitFor();
    },
  },
  {
    name: 'token-revocation',
    source: 'pages/tokens-page.ts',
    route: 'tokens',
    open: (opened, say) => press(opened, say('tokens.revoke_thing', { agent: 'claude' })),
  },
  {
    name: 'tool-removal',
    source: 'pages/tools-page.ts',
    route: 'tools?q=reading%20light',
    open: (opened, say) => press(opened, say('forms.remove_thing', { label: 'Reading light' })),
  },
  {
    name: 'person',
    source: 'pages/people-page.ts',
    route: 'people',
    open: (opened, say) => press(opened, say('people.change', { name: 'Tim' })),
  },
  {
    name: 'person-removal',
    source: 'pages/people-page.ts',
    route: 'people',
    open: (opened, say) => press(opened, say('people.remove_person', { name: 'Tim' })),
  },
  {
    name: 'invitation',
    source: 'pages/people-page.ts',
    route: 'people',
    open: (opened, say) => press(opened, say('people.invite_person', { name: 'Tim' })),
  },
  {
    name: 'automation-end',
    source: 'pages/automations-page.ts',
    route: 'automations',
    open: (opened, say) => press(opened, say('automations.renew')),
  },
  {
    name: 'automation-removal',
    source: 'pages/automations-page.ts',
    route: 'automations',
    open: (opened, say) => press(opened, say('automations.remove')),
  },
];
