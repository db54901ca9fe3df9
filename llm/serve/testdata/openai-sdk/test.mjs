// The official OpenAI client against a server of this repository: BASE_URL and MODEL say which.
import test from "node:test";
import assert from "node:assert/strict";
import OpenAI from "openai";

const model = process.env.MODEL;
const client = new OpenAI({ baseURL: process.env.BASE_URL + "/v1", apiKey: process.env.API_KEY ?? "none", maxRetries: 0 });
const messages = [
  { role: "system", content: "Tell a story." },
  { role: "user", content: "Once upon a time" },
];
const sampling = { model, messages, max_tokens: 24, temperature: 1, seed: 7 };

test("models", async () => {
  const list = await client.models.list();
  assert.equal(list.data[0].id, model);
  assert.equal((await client.models.retrieve(model)).id, model);
});

test("chat", async () => {
  const reply = await client.chat.completions.create(sampling);
  const [choice] = reply.choices;
  assert.equal(reply.object, "chat.completion");
  assert.equal(choice.message.role, "assistant");
  assert.ok(choice.message.content.length > 0);
  assert.ok(["stop", "length"].includes(choice.finish_reason));
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
  const again = await client.chat.completions.create(sampling);
  assert.equal(again.choices[0].message.content, choice.message.content, "a seed gives the same answer");
});

test("log-probabilities", async () => {
  const reply = await client.chat.completions.create({ ...sampling, logprobs: true, top_logprobs: 3 });
  const { content } = reply.choices[0].logprobs;
  assert.equal(content.length, reply.usage.completion_tokens);
  for (const entry of content) {
    assert.ok(entry.logprob <= 0);
    assert.equal(entry.top_logprobs.length, 3);
    assert.ok(entry.top_logprobs[0].logprob >= entry.top_logprobs[2].logprob);
    assert.ok(entry.top_logprobs[0].logprob >= entry.logprob);
  }
  const bytes = content.flatMap((entry) => entry.bytes);
  const text = new TextDecoder().decode(new Uint8Array(bytes));
  assert.ok(text.startsWith(reply.choices[0].message.content), `${JSON.stringify(text)} begins with the message`);
});

test("streaming", async () => {
  const whole = await client.chat.completions.create(sampling);
  const stream = await client.chat.completions.create({ ...sampling, stream: true, stream_options: { include_usage: true }, logprobs: true });
  let text = "", tokens = 0, finish = null, usage = null, role = null;
  for await (const chunk of stream) {
    assert.equal(chunk.object, "chat.completion.chunk");
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      role = choice.delta.role ?? role;
      text += choice.delta.content ?? "";
      tokens += choice.logprobs?.content.length ?? 0;
      finish = choice.finish_reason ?? finish;
    }
  }
  assert.equal(role, "assistant");
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(finish, whole.choices[0].finish_reason);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  assert.equal(tokens, usage.completion_tokens);
});

test("the client's stream helper", async () => {
  const runner = client.chat.completions.stream({ ...sampling, stream_options: { include_usage: true } });
  const final = await runner.finalChatCompletion();
  assert.ok(final.choices[0].message.content.length > 0);
  assert.ok(final.usage.completion_tokens > 0);
});

test("a stream that is left early", async () => {
  const stream = await client.chat.completions.create({ ...sampling, max_tokens: 200, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break; // ends the request
  }
  const reply = await client.chat.completions.create({ ...sampling, max_tokens: 2 });
  assert.equal(reply.usage.completion_tokens, 2);
});

test("completions", async () => {
  const reply = await client.completions.create({ model, prompt: ["Once", "The dog"], max_tokens: 4, temperature: 0, logprobs: 2, n: 2, seed: 1 });
  assert.equal(reply.choices.length, 4);
  assert.deepEqual(reply.choices.map((c) => c.index), [0, 1, 2, 3]);
  assert.equal(reply.choices[0].text, reply.choices[1].text);
  assert.equal(reply.choices[0].logprobs.tokens.length, 4);
  assert.equal(reply.choices[0].logprobs.text_offset[0], 0);
  let text = "";
  for await (const chunk of await client.completions.create({ model, prompt: "Once", max_tokens: 4, temperature: 0, stream: true })) {
    text += chunk.choices[0]?.text ?? "";
  }
  assert.equal(text, reply.choices[0].text);
});

test("vLLM's fields beside OpenAI's", async () => {
  const sampled = await client.chat.completions.create({ ...sampling, logprobs: true, return_token_ids: true });
  const { token_ids: ids, logprobs } = sampled.choices[0];
  const scored = await client.completions.create({
    model, prompt: [...sampled.prompt_token_ids, ...ids], max_tokens: 1, temperature: 1, prompt_logprobs: 1,
  });
  const list = scored.choices[0].prompt_logprobs;
  assert.equal(list[0], null);
  ids.forEach((id, i) => {
    const entry = list[sampled.prompt_token_ids.length + i][id];
    assert.ok(Math.abs(entry.logprob - logprobs.content[i].logprob) < 1e-4, `token ${i}: ${entry.logprob} and ${logprobs.content[i].logprob}`);
  });
});

test("errors", async () => {
  const cases = [
    [{ ...sampling, model: "another" }, OpenAI.NotFoundError, 404, /does not exist/],
    [{ ...sampling, max_tokens: 1_000_000 }, OpenAI.BadRequestError, 400, /maximum context length/],
    [{ ...sampling, temperature: -1 }, OpenAI.BadRequestError, 400, /temperature/],
    [{ ...sampling, messages: [] }, OpenAI.BadRequestError, 400, /empty/],
    [{ ...sampling, tools: [{ type: "function", function: { name: "f" } }] }, OpenAI.BadRequestError, 400, /tools/],
  ];
  for (const [body, kind, status, message] of cases) {
    for (const stream of [false, true]) {
      await assert.rejects(client.chat.completions.create({ ...body, stream }), (err) => {
        assert.ok(err instanceof kind, `${err} is a ${kind.name}`);
        assert.equal(err.status, status);
        assert.match(err.message, message);
        assert.equal(typeof err.type, "string");
        return true;
      });
    }
  }
  await assert.rejects(client.embeddings.create({ model, input: "x" }), OpenAI.NotFoundError);
});
