// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Chromium without a window, driven by the DevTools protocol over a pair of pipes
/// (`--remote-debugging-pipe`): messages of JSON, each followed by a zero byte.
final class Browser: Sendable {
  private struct State {
    var next = 1
    var waiting: [Int: CheckedContinuation<Data, any Error>] = [:]
    var end: ClientFailure?
  }

  private let process: LeashedProcess
  let directory: URL
  private let commands: FileHandle
  private let answers: FileHandle
  private let state = Mutex(State())
  /// Held while a message is written: those of several pages come at once.
  private let writing = Mutex(())

  /// Starts a browser with a new profile. It ends with this process if `close()` is not called.
  init() throws {
    directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-browser-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let paths = ["in", "out"].map { [directory] name in
      directory.appending(path: name).path(percentEncoded: false)
    }
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
      ["-c", #"exec "$0" "$@" 3<in 4>out"#, chromium] + Self.arguments
        + ["--user-data-dir=\(profile)", "about:blank"],
      in: directory, output: directory.appending(path: "said.txt"))
    let thread = Thread { [self] in read() }
    thread.name = "browser"
    thread.start()
    Task { [process, answers] in
      await process.ended()
      Self.endReading(of: answers)
    }
  }

  /// Ends the reading thread, also within a message: this process holds the pipe open itself.
  private static func endReading(of answers: FileHandle) {
    try? answers.write(contentsOf: Data([0]))
  }

  /// Without the sandbox, which is refused to root, and without features that need a desktop or a
  /// network. Pages that are not in front run as the one that is. No window has processes of its
  /// own for the suggestions of its address field: they take longer to start than the page.
  private static let arguments = [
    "--remote-debugging-pipe", "--headless=new", "--no-sandbox", "--disable-gpu",
    "--disable-dev-shm-usage", "--autoplay-policy=no-user-gesture-required", "--no-first-run",
    "--mute-audio", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-proxy-server", "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
  ]

  var isRunning: Bool { process.isRunning && state.withLock { $0.end == nil } }

  func close() async {
    await process.kill()
    try? FileManager.default.removeItem(at: directory)
  }

  /// Sends a command, and returns its result as JSON.
  ///
  /// - Parameter session: that of a page; without one, the command is for the browser.
  /// - Throws: `ClientFailure`, also if Chromium ends; `CancellationError`.
  func call(
    _ method: String, _ parameters: [String: any Sendable] = [:], session: String? = nil
  ) async throws -> Data {
    let id = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    var message: [String: Any] = ["id": id, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    let bytes = try JSONSerialization.data(withJSONObject: message) + Data([0])
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let end = state.withLock { state in
          if state.end == nil { state.waiting[id] = continuation }
          return state.end
        }
        if let end { return continuation.resume(throwing: end) }
        if Task.isCancelled { return fail(id, CancellationError()) }
        do { try writing.withLock { _ in try commands.write(contentsOf: bytes) } } catch {
          fail(id, error)
        }
      }
    } onCancel: {
      fail(id, CancellationError())
    }
  }

  /// Ends the wait for an answer.
  private func fail(_ id: Int, _ error: any Error) {
    state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: error)
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

/// The browser that the tests share: starting one costs a processor two seconds.
actor SharedBrowser {
  private static let instance = SharedBrowser()
  /// Those of the browsers that were started, removed when this process exits.
  private static let directories = Mutex<[URL]>([])
  private var browser: Browser?

  /// Returns the running browser; starts one if there is none, or if it has crashed.
  static func running() async throws -> Browser { try await instance.running() }

  func running() throws -> Browser {
    if let browser, browser.isRunning { return browser }
    let new = try Browser()
    browser = new
    let isFirst = Self.directories.withLock { directories in
      directories.append(new.directory)
      return directories.count == 1
    }
    if isFirst {
      atexit {
        for directory in SharedBrowser.directories.withLock({ $0 }) {
          try? FileManager.default.removeItem(at: directory)
        }
      }
    }
    return new
  }
}
