// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Requests over TLS through a proxy, which opens a tunnel for them (RFC 9110 §9.3.6).
  @Suite(.timeLimit(.minutes(1))) struct TunnelTests {
    /// A proxy whose tunnels all lead to one port of this machine.
    private func proxy(to port: UInt16) throws -> RawServer {
      try RawServer { client in
        guard client.readRequest().hasPrefix("CONNECT song.example:"),
          let origin = connection(to: port)
        else { return }
        client.send("HTTP/1.1 200 OK\r\n\r\n")
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          while let bytes = origin.read(1) { client.send(bytes) }
          client.endSending()
          hasEnded.signal()
        }
        while let bytes = client.read(1) { origin.send(bytes) }
        origin.endSending()
        // Neither descriptor may be closed while it is used.
        hasEnded.wait()
        origin.close()
      }
    }

    @Test(
      .enabled(if: RequiredProgram.python3.isUsable && RequiredProgram.openssl.isUsable),
      arguments: ["/a?", "/a/../b?c"])
    func `The origin receives the path alone, as it is spelled`(_ target: String) async throws {
      let directory = TestCache.temporaryDirectory()
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let authority = try await PrivateAuthority(in: directory)
      let origin = try EchoingServer()
      defer { origin.stop() }
      let relay = try await TLSRelay(before: origin.port, authority)
      let proxy = try proxy(to: relay.port)
      defer { proxy.stop() }
      let transport = CurlTransport(
        .init(environment: [
          "https_proxy": "http://127.0.0.1:\(proxy.port)", "SSL_CERT_FILE": authority.certificate,
        ]))
      let url = try #require(URL(string: "https://song.example:\(relay.port)\(target)"))
      let head = try await transport.send(OriginRequest(url: url)).text()
      #expect(head.hasPrefix("GET \(target) HTTP/1.1\r\nHost: song.example:\(relay.port)\r\n"))
      await relay.stop()
    }

    @Test func `A proxy that refuses the tunnel makes the origin unreachable`() async throws {
      let proxy = try RawServer.answering("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
      defer { proxy.stop() }
      let transport = CurlTransport(
        .init(environment: ["https_proxy": "http://127.0.0.1:\(proxy.port)"]))
      let url = try #require(URL(string: "https://song.example/a"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await transport.send(OriginRequest(url: url))
      }
      #expect(error?.code == .unreachable)
      #expect(error?.reason.contains("CONNECT tunnel failed, response 403") == true)
    }
  }

  private func connection(to port: UInt16) -> RawServer.Connection? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    let connection = RawServer.Connection(descriptor: descriptor)
    if isConnected { return connection }
    connection.close()
    return nil
  }
#endif
