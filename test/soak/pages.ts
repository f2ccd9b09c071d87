/** What the soak knows while it types. */
export interface Stage {
  /** What the command before said. */
  said: string;
  /** Path of the copy of the clone. */
  clone: string;
  /** Stops what earlier pages have started. */
  stopTerminals(): Promise<void>;
  /** A registry and a PostgreSQL, which a server has already; from now on the page means these. */
  startServices(): Promise<void>;
  registryUrl: string;
  /** A message on the bus that cannot be handled; returns when it is a dead letter, with its id. */
  deadLetter(): Promise<string>;
  /** Asks the API with the key of the terminal. */
  ask(path: string, body?: object): Promise<unknown>;
}

/** What a block needs: words of it that a reader replaces by what he has seen. */
export type Scene = (stage: Stage) => Promise<Record<string, string>>;

export interface Page {
  page: string;
  begin?: (stage: Stage) => Promise<unknown>;
  /** The page that is typed before this one, and in whose terminal this one continues. */
  after?: string;
  scenes?: Record<string, Scene>;
}

const INSTALLED = { after: 'docs/installing.md' };

/** The pages, in the order in which they are typed, and what their named blocks need. */
export const PAGES: Page[] = [
  { page: 'README.md' },
  {
    page: 'docs/erp-integration.md',
    scenes: { receiver: async ({ said }) => ({ 'whsec_…': (JSON.parse(said) as { secret: string }).secret }) },
  },
  { page: 'docs/sandbox.md', begin: (stage) => stage.stopTerminals() },
  { page: 'docs/sandbox-clients.md', begin: (stage) => stage.stopTerminals() },
  {
    page: 'docs/installing.md',
    begin: async (stage) => {
      await stage.stopTerminals();
      await stage.startServices();
    },
    scenes: {
      yours: ({ registryUrl, clone }) =>
        Promise.resolve({
          'https://registry.example': registryUrl,
          'the-secret-of-the-participant': 'sandbox-secret-main',
          '/tmp/user.p12': `${clone}/apps/sandbox/data/accounts/main.p12`,
          'the-password-of-the-file': 'sandbox',
        }),
    },
  },
  { ...INSTALLED, page: 'docs/configuration.md' },
  { ...INSTALLED, page: 'docs/accounts.md', scenes: { accounts: () => Promise.resolve({ NAME: 'main' }) } },
  { ...INSTALLED, page: 'docs/api-keys.md' },
  {
    ...INSTALLED,
    page: 'docs/bus.md',
    scenes: {
      'dead-letters': async (stage) => ({ ID: await stage.deadLetter() }),
      discard: async (stage) => ({ ID: await stage.deadLetter() }),
    },
  },
  {
    ...INSTALLED,
    page: 'docs/mending.md',
    scenes: {
      webhooks: async (stage) => ({
        ID: ((await stage.ask('/v1/webhooks', { url: 'https://erp.example/outcomes' })) as { id: string }).id,
      }),
    },
  },
  { ...INSTALLED, page: 'docs/reconciliation.md' },
  { ...INSTALLED, page: 'docs/deadlines.md' },
  {
    ...INSTALLED,
    page: 'docs/auditing.md',
    scenes: {
      proof: async (stage) => ({
        REQUEST_ID:
          ((await stage.ask('/v1/documents?limit=1')) as { items: { request_id: string }[] }).items[0]?.request_id ??
          '',
      }),
    },
  },
  { ...INSTALLED, page: 'docs/access-log.md' },
  { ...INSTALLED, page: 'docs/backup.md' },
];
