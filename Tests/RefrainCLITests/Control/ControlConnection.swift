// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks
  import TestSupport

  @testable import RefrainCLI

  /// A client of a control socket. Its calls wait on threads that may.
  final class ControlConnection: Sendable {
    /// A line of the player.
    struct Line: Sendable, Decodable {
      var error: String?
      var message: String?
      var data: ControlValue?
      var event: String?
      var name: String?
      var id: Int?
      var requestID: ControlValue?
      var reason: String?
      var fileError: String?
      var entry: Int?

      private enum CodingKeys: String, CodingKey {
        case error, message, data, event, name, id, reason
        case requestID = "request_id"
        case fileError = "file_error"
        case entry = "playlist_entry_id"
      }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        error = try? container.decode(String.self, forKey: .error)
        message = try container.decodeIfPresent(String.self, forKey: .message)
        data =
          container.contains(.data) ? try container.decode(AnyData.self, forKey: .data).value : nil
        event = try container.decodeIfPresent(String.self, forKey: .event)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        id = try container.decodeIfPresent(Int.self, forKey: .id)
        requestID = try container.decodeIfPresent(ControlValue.self, forKey: .requestID)
        reason = try container.decodeIfPresent(String.self, forKey: .reason)
        fileError = try container.decodeIfPresent(String.self, forKey: .fileError)
        entry = try container.decodeIfPresent(Int.self, forKey: .entry)
      }
    }

    private struct AnyData: Decodable {
      var value: ControlValue

      init(from decoder: any Decoder) throws {
        // Each failure means another type.
        if let list = try? [AnyData](from: decoder) {
          value = .array(list.map(\.value))
        } else if let members = try? [String: AnyData](from: decoder) {
          value = .object(members.mapValues(\.value))
        } else {
          value = try ControlValue(from: decoder)
        }
      }
    }

    struct Failure: Error {
      var description: String
    }

    private let file: CInt
    private let received = Mutex<[UInt8]>([])
    private let lastID = Mutex(0)

    /// - Throws: `Failure` if nobody listens.
    init(_ path: String) throws {
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
      guard result == 0 else {
        // Throwing ends this instance, which closes the socket.
        throw Failure(description: String(cString: strerror(errno)))
      }
    }

    deinit { close(file) }

    /// Sends nothing more; what was sent is performed.
    func endSending() { shutdown(file, CInt(SHUT_WR)) }

    func send(_ text: String) async { await send(bytes: Array(text.utf8)) }

    /// Sends all bytes, or those until the player closes the connection.
    func send(bytes: [UInt8]) async {
      try? await onThread { [file] in
        var rest = bytes[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes {
            Foundation.send(file, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
          }
          guard count > 0 else { return }
          rest = rest.dropFirst(count)
        }
      }
    }

    /// Returns the next line; nil at the end of the connection.
    func line() async throws -> Line? {
      guard let text = try await text() else { return nil }
      return try JSONDecoder().decode(Line.self, from: Data(text))
    }

    private func text() async throws -> [UInt8]? {
      while true {
        let line = received.withLock { bytes -> [UInt8]? in
          guard let end = bytes.firstIndex(of: 0x0A) else { return nil }
          defer { bytes.removeSubrange(...end) }
          return Array(bytes[..<end])
        }
        if let line { return line }
        // Not on the cache's own threads: there the player, of which this may be waiting for a reply,
        // would wait for this.
        let more = try await onThread { [file] () throws -> [UInt8] in
          var bytes = [UInt8](repeating: 0, count: 64 << 10)
          let count = recv(file, &bytes, bytes.count, 0)
          // The player closes connections with commands that it has not read.
          guard count >= 0 || errno == ECONNRESET else {
            throw Failure(description: String(cString: strerror(errno)))
          }
          return Array(bytes.prefix(max(0, count)))
        }
        if more.isEmpty { return nil }
        received.withLock { $0 += more }
      }
    }

    /// Sends a command, such as `"seek", 30`, and returns its reply. Events are skipped.
    func ask(_ words: String) async throws -> Line {
      let id = lastID.withLock { id in
        id += 1
        return id
      }
      await send(#"{"command":[\#(words)],"request_id":\#(id)}"# + "\n")
      while let line = try await line() {
        if line.requestID == .integer(Int64(id)) { return line }
      }
      throw Failure(description: "The connection ended before the reply to \(words).")
    }

    /// Returns a property as JSON; nil: it has no value.
    func get(_ property: String) async throws -> ControlValue? {
      try await ask(#""get_property","\#(property)""#).data
    }

    /// Returns the next event of the name, and of the property if it is `property-change`.
    func event(_ name: String, of property: String? = nil) async throws -> Line {
      while let line = try await line() {
        if line.event == name, line.name == property { return line }
      }
      throw Failure(description: "The connection ended before \(name).")
    }
  }
#endif
