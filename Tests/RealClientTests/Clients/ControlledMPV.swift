// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks
  import TestSupport

  /// mpv that plays a URL without a screen and a sound device, controlled by its socket
  /// (`--input-ipc-server`). Unless asked for otherwise, nothing is buffered beyond the next second.
  final class ControlledMPV: Sendable {
    private struct State: Sendable {
      var received: [UInt8] = []
      var lastRequest = 0
    }

    private struct Reply: Decodable {
      var request: Int?
      var error: String?

      private enum CodingKeys: String, CodingKey {
        case error
        case request = "request_id"
      }
    }

    private struct Answer<Value: Decodable>: Decodable { var data: Value? }

    private let file: CInt
    private let state = Mutex(State())

    /// Runs `body` while mpv plays, and ends mpv on every outcome.
    ///
    /// - Parameter options: its options of outputs and of buffering.
    static func with(
      _ url: URL, options: [String] = ["--no-video", "--ao=null", "--cache=no"],
      in directory: URL, _ body: (ControlledMPV) async throws -> Void
    ) async throws {
      let socket = directory.appending(path: "mpv").path(percentEncoded: false)
      let output = directory.appending(path: "mpv.txt")
      let process = try LeashedProcess(
        RequiredProgram.mpv.path,
        [
          "--no-config", "--no-terminal", "--input-ipc-server=\(socket)",
        ] + options + [url.absoluteString],
        in: directory, output: output)
      let result: Result<Void, any Error>
      do {
        let player = try await connected(to: socket, of: process)
        try await body(player)
        result = .success(())
      } catch {
        let said = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        if !said.isEmpty { print("mpv: \(said.suffix(2000))") }
        result = .failure(error)
      }
      await process.kill()
      try result.get()
    }

    private static func connected(
      to path: String, of process: LeashedProcess
    ) async throws -> ControlledMPV {
      let end = ContinuousClock.now + .seconds(60)
      while true {
        do {
          return try ControlledMPV(path)
        } catch {
          guard process.isRunning, ContinuousClock.now < end else { throw error }
        }
        try await Task.sleep(for: .milliseconds(10))
      }
    }

    /// - Throws: `ClientFailure` if nobody listens.
    private init(_ path: String) throws {
      file = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      // Nothing takes that long: a test fails instead of waiting for ever.
      var patience = timeval(tv_sec: 60, tv_usec: 0)
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(file, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
      }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) {
        $0.copyBytes(from: path.utf8.prefix($0.count - 1))
      }
      let result = withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      // Throwing ends this instance, which closes the socket.
      guard result == 0 else { throw Self.failure() }
    }

    deinit { close(file) }

    // MARK: Playing

    /// Seeks to a time in seconds.
    func seek(to seconds: Double) async throws {
      try await perform(#""seek",\#(seconds),"absolute+exact""#)
    }

    func setPaused(_ isPaused: Bool) async throws {
      try await perform(#""set_property","pause",\#(isPaused)"#)
    }

    /// Whether it plays, from the time on or some seconds after it.
    func plays(from seconds: Double) async throws -> Bool {
      guard try await isPlaying, let now: Double = try await get("time-pos") else { return false }
      return now > seconds - 0.5 && now < seconds + 30
    }

    /// Whether sound comes: neither paused, nor seeking, nor waiting for bytes.
    var isPlaying: Bool {
      get async throws {
        let isSeeking: Bool? = try await get("seeking")
        let isIdle: Bool? = try await get("core-idle")
        return isSeeking == false && isIdle == false
      }
    }

    /// The seconds played; nil before the first.
    var position: Double? {
      get async throws { try await get("time-pos") }
    }

    /// Whether it has stopped because bytes are missing.
    var waitsForBytes: Bool {
      get async throws { try await get("paused-for-cache") ?? false }
    }

    // MARK: Talking

    /// Returns a property; nil while it has no value.
    private func get<Value: Decodable>(_ property: String) async throws -> Value? {
      let (line, error) = try await ask(#""get_property","\#(property)""#)
      guard error == "success" else { return nil }
      return try JSONDecoder().decode(Answer<Value>.self, from: line).data
    }

    private func perform(_ words: String) async throws {
      let (_, error) = try await ask(words)
      guard error == "success" else {
        throw ClientFailure(description: "mpv refused \(words): \(error)")
      }
    }

    /// Sends a command, and returns its reply and what it says of an error. Skips events.
    private func ask(_ words: String) async throws -> (line: Data, error: String) {
      try await onThread { [self] in try state.withLock { try exchange(words, &$0) } }
    }

    private func exchange(
      _ words: String, _ state: inout State
    ) throws -> (line: Data, error: String) {
      state.lastRequest += 1
      let text = #"{"command":[\#(words)],"request_id":\#(state.lastRequest)}"# + "\n"
      try send(Array(text.utf8))
      while true {
        let line = try nextLine(&state.received)
        let reply = try JSONDecoder().decode(Reply.self, from: line)
        if reply.request == state.lastRequest { return (line, reply.error ?? "") }
      }
    }

    private func send(_ bytes: [UInt8]) throws {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Foundation.send(file, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw Self.failure() }
        rest = rest.dropFirst(count)
      }
    }

    private func nextLine(_ received: inout [UInt8]) throws -> Data {
      while true {
        if let end = received.firstIndex(of: 0x0A) {
          defer { received.removeSubrange(...end) }
          return Data(received[..<end])
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(file, &bytes, bytes.count, 0)
        guard count > 0 else { throw Self.failure() }
        received += bytes.prefix(count)
      }
    }

    private static func failure() -> ClientFailure {
      ClientFailure(description: "The socket of mpv: \(String(cString: strerror(errno)))")
    }
  }
#endif
