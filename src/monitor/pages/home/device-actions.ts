import type { DeviceView } from '../../api/hub-types.ts';

/** What a device can do by the action's name, such as `turn_on`, with the id of the tool that does it. */
export function actionsOf(device: Pick<DeviceView, 'id' | 'name' | 'tools'>): ReadonlyMap<string, string> {
  const slugs = [slugOf(device.name), slugOf(device.id)];
  return new Map(device.tools.map((tool) => [actionOf(tool, slugs), tool]));
}

/** Names are `matter:<slug>_<action>`; long ones are cut and end, ones of equal devices have behind the slug, six hex digits. */
function actionOf(tool: string, slugs: readonly string[]): string {
  const name = tool.replace(/^[^:]*:/, '').replace(/@.*$/, '');
  const whole = slugs.find((slug) => name.startsWith(`${slug}_`));
  if (whole !== undefined) return name.slice(whole.length + 1).replace(/^[0-9a-f]{6}_(?=.)/, '');
  const cut = Math.max(...slugs.map((slug) => sharedLength(name, slug)));
  return name
    .slice(cut)
    .replace(/^_/, '')
    .replace(/_[0-9a-f]{6}$/, '');
}

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
