// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import Refrain
  @testable import TestSupport

  /// SHOUTcast servers respond with a status line of their own.
  @Suite(.timeLimit(.minutes(1))) struct ICYStatusLineTests {
    private static let head = "ICY 200 OK\r\nicy-name: Radio\r\ncontent-type: audio/mpeg\r\n\r\n"

    /// - Parameter parts: the sizes of the first pieces in which the response is sent.
    private func server(_ answer: String, parts: [Int] = []) throws -> RawServer {
      try RawServer { connection in
        _ = connection.readRequest()
        var rest = Substring(answer)
        for part in parts {
          connection.send(String(rest.prefix(part)))
          rest = rest.dropFirst(part)
          Thread.sleep(forTimeInterval: 0.02)
        }
        connection.send(String(rest))
      }
    }

    @Test(arguments: [[], [1], [3], [4], [1, 1, 1, 1], [2, 9]])
    func `A SHOUTcast status line is accepted as HTTP`(_ parts: [Int]) async throws {
      let server = try server(Self.head + "sound", parts: parts)
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(response.status == 200 && response.headers["icy-name"] == "Radio")
      #expect(try await response.whole() == Data("sound".utf8))
    }

    @Test func `A SHOUTcast station is read through the cache`() async throws {
      let sound = String(repeating: "sound", count: 40_000)
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send(Self.head + sound)
        connection.waitForEnd()
      }
      defer { server.stop() }
      let url = try server.url()
      try await withCache { test in
        let reader = try await test.cache.open(Resource(url: url))
        defer { reader.cancel() }
        let bytes = try await reader.bytes(in: 0..<Int64(sound.utf8.count))
        #expect(bytes == Data(sound.utf8))
        #expect(reader.streamTitle(at: .max)?.station.name == "Radio")
      }
    }

    @Test(arguments: ["IC", "ICX 200 OK\r\n\r\n", "I", "ICY", "ICY garbage\r\n\r\n"])
    func `A status line that only resembles SHOUTcast is refused`(_ answer: String) async throws {
      let server = try server(answer)
      defer { server.stop() }
      let error = await #expect(throws: TransportError.self) {
        _ = try await CurlTransport().send(OriginRequest(url: server.url()))
      }
      #expect(error.map { [.malformed, .connectionLost].contains($0.code) } == true)
    }

    @Test func `A body that begins with ICY is not changed`() async throws {
      let server = try RawServer { connection in
        for _ in 0..<2 {
          _ = connection.readRequest()
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
          Thread.sleep(forTimeInterval: 0.02)
          connection.send("ICY 1234")
        }
      }
      defer { server.stop() }
      for _ in 0..<2 {
        let response = try await CurlTransport().send(OriginRequest(url: server.url()))
        #expect(try await response.whole() == Data("ICY 1234".utf8))
      }
    }
  }
#endif
