import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { notificationOf } from '../../../src/web/worker/push-message.ts';

const NOTICE = {
  id: 'n-1',
  kind: 'approval',
  title: 'Claude asks to unlock Front door',
  text: 'Hall. Until 12:04.',
  path: '/#/approvals/ap-1',
  urgency: 'high',
};

describe('a push message', () => {
  test('becomes a notification that replaces its own repeat', () => {
    expect(notificationOf(JSON.stringify(NOTICE))).toEqual({
      title: 'Claude asks to unlock Front door',
      body: 'Hall. Until 12:04.',
      tag: 'n-1',
      path: '/#/approvals/ap-1',
      isUrgent: true,
      isApproval: true,
    });
  });

  test('says how many equal questions it stands for', () => {
    expect(notificationOf(JSON.stringify({ ...NOTICE, count: 9 })).title).toBe('Claude asks to unlock Front door (9)');
    expect(notificationOf(JSON.stringify({ ...NOTICE, count: 1 })).title).toBe('Claude asks to unlock Front door');
  });

  test.each([undefined, '', 'no json', '[]', '{"title":7,"path":3,"id":null}'])('that is no notice, %j, only opens the page', (content) => {
    expect(notificationOf(content)).toMatchObject({ title: 'Atmosphere', body: '', tag: 'atmosphere', path: '/', isApproval: false });
  });

  test.each(['https://evil.example/', '//evil.example', 'javascript:alert(1)', '/api/v1/approvals', '/#login=token', '/\\evil.example'])(
    'cannot open %s',
    (path) => {
      expect(notificationOf(JSON.stringify({ ...NOTICE, path })).path).toBe('/');
    },
  );

  test('never opens anything but a page of this origin, whatever it has', () => {
    fc.assert(
      fc.property(fc.string(), (path) => {
        const shown = notificationOf(JSON.stringify({ ...NOTICE, path })).path;
        expect(new URL(shown, 'https://hub.example').origin).toBe('https://hub.example');
        expect(new URL(shown, 'https://hub.example').pathname).toBe('/');
      }),
    );
  });
});
