import { NOTICE_LANGUAGES, type Notice, type NoticeLanguage } from '../../core/notices.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import type { NoticeTexts, NoticeWriter } from './notice-texts.ts';

/** The texts of each language. To add a language, add its file, a line here, and its tag in `NOTICE_LANGUAGES`. */
export const NOTICE_TEXTS: Readonly<Record<NoticeLanguage, NoticeTexts>> = { en, de };

/** Returns what a notice says, in English and in every other language: who reads it may choose the language later. */
export function inAllLanguages(write: NoticeWriter): Pick<Notice, 'title' | 'text' | 'translations'> {
  const others = NOTICE_LANGUAGES.filter((language) => language !== 'en');
  return { ...write(en), translations: Object.fromEntries(others.map((language) => [language, write(NOTICE_TEXTS[language])])) };
}
