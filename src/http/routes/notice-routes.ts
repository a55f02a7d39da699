import type { CallPort } from '../ports.ts';
import { field } from '../server/query.ts';
import type { Route } from '../server/route.ts';
import { toolRoute } from './call-request.ts';

const SUBSCRIPTION = {
  type: 'object',
  required: ['endpoint', 'keys'],
  properties: {
    endpoint: { type: 'string' },
    keys: { type: 'object', required: ['p256dh', 'auth'], properties: { p256dh: { type: 'string' }, auth: { type: 'string' } } },
    label: { type: 'string', description: 'Which browser it is, such as phone' },
  },
};

const NOTICE_ROUTES = [
  toolRoute({
    method: 'GET',
    path: '/api/v1/notices',
    summary: 'What the person who calls should know or decide, newest first',
    tool: 'hub:list_notices',
    query: { unread: field.flag('only what is not marked as read'), limit: field.integer('at most this many', 1, 500) },
    params: (_request, { unread, limit }) => ({ ...(unread !== undefined && { unread }), ...(limit !== undefined && { limit }) }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/notices/read',
    summary: 'Mark notices as read: those of notice_ids, or all',
    tool: 'hub:mark_notices_read',
    body: { type: 'object', properties: { notice_ids: { type: 'array', items: { type: 'string' } } } },
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/notices/settings',
    summary: 'How a person is told, and which ways and kinds there are',
    tool: 'hub:show_notice_settings',
    query: { person: field.text('another person, for administrators of the hub') },
    params: (_request, { person }) => (person === undefined ? {} : { person }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/notices/settings',
    summary: 'Replace the rules by which a person is told, or set the language',
    tool: 'hub:set_notice_settings',
    body: {
      type: 'object',
      properties: {
        person: { type: 'string' },
        rules: { type: 'array' },
        language: { type: 'string' },
        page_language: { type: 'string' },
      },
    },
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/questions/:id',
    summary: 'A question and its answer, for who asked and who was asked',
    tool: 'hub:show_question',
    params: ({ path }) => ({ question_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/questions/:id/answer',
    summary: 'Answer a question that an automation or agent asked the person who calls',
    tool: 'hub:answer_question',
    body: { type: 'object', required: ['answer'], properties: { answer: { type: 'string' } } },
    params: ({ path, body }) => ({ ...body, question_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/push/key',
    summary: "The hub's public key for PushManager.subscribe",
    tool: 'hub:push_key',
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/push/subscriptions',
    summary: 'The browsers of the person who calls that get messages by Web Push',
    tool: 'hub:list_push_subscriptions',
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/push/subscriptions',
    summary: 'Send messages to a browser from now on; the body is PushSubscription.toJSON()',
    tool: 'hub:add_push_subscription',
    body: SUBSCRIPTION,
    status: 201,
    // The browser also tells when the subscription expires; a push service then answers that it is gone.
    params: ({ body: { expirationTime: _, ...subscription } }) => subscription,
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/push/subscriptions/:id',
    summary: 'Send no more messages to a browser',
    tool: 'hub:remove_push_subscription',
    params: ({ path }) => ({ subscription_id: path.id ?? '' }),
  }),
];

/** Returns the routes for notices and Web Push. Each route calls one tool. */
export function noticeRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return NOTICE_ROUTES.map((route) => route(pipeline));
}
