// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Testing

  @testable import Refrain

  /// The meaning of libcurl's codes and messages.
  struct CurlErrorTests {
    private func error(
      _ code: CURLcode, _ text: String = "", systemError: Int = 0, hasHead: Bool = false
    ) -> TransportError? {
      .curl(code, text, host: "h.example", systemError: systemError, hasHead: hasHead)
    }

    @Test func `A successful transfer without a head is a lost connection`() {
      #expect(error(CURLE_OK)?.code == .connectionLost)
      #expect(error(CURLE_OK, hasHead: true) == nil)
    }

    @Test(arguments: [
      (CURLE_PEER_FAILED_VERIFICATION, TransportError.Code.untrusted),
      (CURLE_SSL_CACERT_BADFILE, .untrusted), (CURLE_SSL_CONNECT_ERROR, .unreachable),
      (CURLE_COULDNT_RESOLVE_HOST, .unreachable), (CURLE_COULDNT_RESOLVE_PROXY, .unreachable),
      (CURLE_OPERATION_TIMEDOUT, .unreachable), (CURLE_GOT_NOTHING, .connectionLost),
      (CURLE_PARTIAL_FILE, .connectionLost), (CURLE_SEND_ERROR, .connectionLost),
      (CURLE_UNSUPPORTED_PROTOCOL, .malformed), (CURLE_OUT_OF_MEMORY, .malformed),
      (CURLE_URL_MALFORMAT, .badURL), (CURLE_FAILED_INIT, .unreachable),
    ])
    func `Each curl code maps to a transport error before the head`(
      _ code: CURLcode, _ meaning: TransportError.Code
    ) {
      let error = error(code)
      #expect(error?.code == meaning)
      #expect(error?.reason.hasSuffix(".") == true && error?.reason.hasSuffix("..") == false)
    }

    @Test(arguments: [
      (
        "Illegal or missing hexadecimal sequence in chunked-encoding", TransportError.Code.malformed
      ),
      ("Too large response headers: 307220 > 307200", .malformed),
      ("Recv failure: Connection reset by peer", .connectionLost),
    ])
    func `A receive error is classified by its message`(
      _ text: String, _ meaning: TransportError.Code
    ) {
      #expect(error(CURLE_RECV_ERROR, text)?.code == meaning)
    }

    @Test func `A refused connection names the host`() {
      #expect(
        error(CURLE_COULDNT_CONNECT, systemError: 111)
          == TransportError(.refused, "h.example refused the connection."))
    }

    @Test func `A proxy that refuses a tunnel is reported with its status`() {
      let error = error(CURLE_RECV_ERROR, "CONNECT tunnel failed, response 407")
      #expect(error?.code == .unreachable && error?.reason.contains("response 407") == true)
    }

    @Test func `A silent transfer is distinguished from a slow connection`() {
      let slow = error(CURLE_OPERATION_TIMEDOUT, "Operation too slow. Less than 1 bytes/sec")
      #expect(slow?.code == .timedOut)
      let connection = error(CURLE_OPERATION_TIMEDOUT, "SSL connection timeout")
      #expect(connection?.code == .unreachable && connection?.reason.contains("SSL") == true)
    }
  }
#endif
