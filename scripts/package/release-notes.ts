import { AtmoError } from '../../src/core/errors.ts';

/**
 * Returns what the changelog says about a version, as notes of the release: its section, else that of what is not released yet. Throws
 * NOT_FOUND if the changelog has neither.
 */
export function changesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const isAbout = (name: string) => sections.find((section) => section.startsWith(`[${name}]`));
  const section = isAbout(version) ?? isAbout('Unreleased');
  const [, ...lines] = section?.split('\n') ?? [];
  const text = lines.join('\n').trim();
  if (text === '') throw new AtmoError('NOT_FOUND', `CHANGELOG.md says nothing about ${version}`);
  return `# atmosphere-edge ${version}\n\n${text}\n`;
}
