/** Stands for psql: runs what -c says as the superuser of SOAK_POSTGRES_URL. */
import pg from 'pg';

const at = process.argv.indexOf('-c');
const client = new pg.Client({ connectionString: process.env.SOAK_POSTGRES_URL });
await client.connect();
try {
  const { command } = await client.query(process.argv[at + 1]);
  process.stdout.write(`${command}\n`);
} catch (error) {
  process.stderr.write(`ERROR: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  await client.end();
}
