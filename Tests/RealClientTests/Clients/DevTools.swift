// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// One page in Chromium, driven by the DevTools protocol over a pair of pipes
/// (`--remote-debugging-pipe`): messages of JSON, each followed by a zero byte.
final class DevTools: Sendable {
  private struct State {
    var next = 1
    var waiting: [Int: CheckedContinuation<Data, any Error>] = [:]
    var end: ClientFailure?
  }

  private let process: LeashedProcess
  private let commands: FileHandle
  private let answers: FileHandle
  private let state = Mutex(State())
  private let session = Mutex("")

  /// Opens a page, and closes the browser after `body`.
  static func with(
    _ page: URL, width: Int = 1280, height: Int = 800,
    _ body: @Sendable (DevTools) async throws -> Void
  ) async throws {
    try await withDirectory { directory in
      let tools = try DevTools(in: directory, width: width, height: height)
      let result: Result<Void, any Error>
      do {
        try await tools.show(page)
        result = .success(try await body(tools))
      } catch {
        result = .failure(error)
      }
      await tools.close()
      try result.get()
    }
  }

  private init(in directory: URL, width: Int, height: Int) throws {
    let paths = ["in", "out"].map { directory.appending(path: $0).path(percentEncoded: false) }
    for path in paths where mkfifo(path, 0o600) != 0 {
      throw ClientFailure(description: "\(path): \(String(cString: strerror(errno)))")
    }
    // For both directions: opening waits for no other side.
    let ends = paths.map { open($0, O_RDWR | O_CLOEXEC) }
    guard ends.allSatisfy({ $0 >= 0 }) else {
      throw ClientFailure(description: "A pipe cannot be opened.")
    }
    commands = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    answers = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let chromium = try RequiredProgram.chromium.path.path(percentEncoded: false)
    let profile = directory.appending(path: "profile").path(percentEncoded: false)
    process = try LeashedProcess(
      URL(filePath: "/bin/sh"),
      [
        "-c", #"exec "$0" "$@" 3<in 4>out"#, chromium, "--remote-debugging-pipe",
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--autoplay-policy=no-user-gesture-required", "--no-first-run", "--mute-audio",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--no-proxy-server", "--user-data-dir=\(profile)", "--window-size=\(width),\(height)",
        "about:blank",
      ], in: directory, output: directory.appending(path: "said.txt"))
    let thread = Thread { [self] in read() }
    thread.name = "devtools"
    thread.start()
  }

  private func show(_ page: URL) async throws {
    let made = try await call("Target.createTarget", ["url": "about:blank"])
    let target = try Self.member("targetId", of: made)
    let attached = try await call(
      "Target.attachToTarget", ["targetId": target, "flatten": true])
    let id = try Self.member("sessionId", of: attached)
    session.withLock { $0 = id }
    _ = try await call("Page.enable")
    _ = try await call("Page.navigate", ["url": page.absoluteString])
  }

  private func close() async {
    await process.kill()
    // Ends the reading thread.
    try? answers.write(contentsOf: Data([0]))
  }

  // MARK: Commands

  /// Returns the value of an expression of JavaScript, also of a promise.
  func evaluate<Value: Decodable>(
    _ expression: String, as type: Value.Type = Value.self
  ) async throws -> Value {
    let reply = try await call(
      "Runtime.evaluate",
      ["expression": expression, "awaitPromise": true, "returnByValue": true])
    return try JSONDecoder().decode(Evaluated<Value>.self, from: reply).result.value
  }

  private struct Evaluated<Value: Decodable>: Decodable {
    struct Result: Decodable { var value: Value }
    var result: Result
  }

  /// Sends a command, and returns its result as JSON.
  func call(_ method: String, _ parameters: [String: any Sendable] = [:]) async throws -> Data {
    let session = session.withLock { $0 }
    let id = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    var message: [String: Any] = ["id": id, "method": method, "params": parameters]
    if !session.isEmpty { message["sessionId"] = session }
    let bytes = try JSONSerialization.data(withJSONObject: message) + Data([0])
    return try await withCheckedThrowingContinuation { continuation in
      let end = state.withLock { state in
        if state.end == nil { state.waiting[id] = continuation }
        return state.end
      }
      if let end { return continuation.resume(throwing: end) }
      do { try commands.write(contentsOf: bytes) } catch {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: error)
      }
    }
  }

  private static func member(_ name: String, of json: Data) throws -> String {
    let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
    guard let value = object?[name] as? String else {
      throw ClientFailure(
        description: "\(name) is missing: \(String(decoding: json, as: UTF8.self))")
    }
    return value
  }

  // MARK: Answers

  private func read() {
    var message = Data()
    while process.isRunning || !message.isEmpty {
      let bytes = answers.availableData
      if bytes.isEmpty { break }
      message += bytes
      while let end = message.firstIndex(of: 0) {
        receive(message[message.startIndex..<end])
        message = Data(message[message.index(after: end)...])
      }
    }
    let waiting = state.withLock { state in
      state.end = ClientFailure(description: "Chromium has ended.")
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting {
      continuation.resume(throwing: ClientFailure(description: "Chromium has ended."))
    }
  }

  private func receive(_ message: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: message) as? [String: Any],
      let id = object["id"] as? Int,
      let continuation = state.withLock({ $0.waiting.removeValue(forKey: id) })
    else { return }
    let failure = object["error"] ?? (object["result"] as? [String: Any])?["exceptionDetails"]
    guard failure == nil, let result = object["result"],
      let bytes = try? JSONSerialization.data(withJSONObject: result)
    else {
      return continuation.resume(
        throwing: ClientFailure(description: String(decoding: message, as: UTF8.self)))
    }
    continuation.resume(returning: bytes)
  }
}
