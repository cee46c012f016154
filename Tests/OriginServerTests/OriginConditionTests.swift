// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OriginConditionTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
  let date = Date(timeIntervalSince1970: 784_111_777)

  func status(
    _ fields: String..., etag: String? = "\"one\"", lastModified: Bool = true
  ) async throws -> Int {
    let origin = try await OriginServer.start()
    var resource = OriginResource.synthetic(seed: 1, length: 100)
    resource.etag = etag
    resource.lastModified = lastModified ? date : nil
    origin.serve(resource, at: "/a")
    let reply = try await get(origin, "/a", fields)
    if lastModified { #expect(reply["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT") }
    #expect(reply["ETag"] == etag)
    await origin.stop()
    return reply.status
  }

  @Test func `A matching If-None-Match receives a 304 response`() async throws {
    #expect(try await status("If-None-Match: \"one\"") == 304)
    #expect(try await status("If-None-Match: \"two\", W/\"one\"") == 304)
    #expect(try await status("If-None-Match: *") == 304)
    #expect(try await status("If-None-Match: \"two\"") == 200)
    #expect(try await status("If-None-Match: \"one\"", etag: nil) == 200)
    #expect(try await status("If-None-Match: W/\"one\"", etag: "W/\"one\"") == 304)
  }

  @Test func `If-Modified-Since receives a 304 response if nothing is newer`() async throws {
    #expect(try await status("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT") == 304)
    #expect(try await status("If-Modified-Since: Mon, 07 Nov 1994 00:00:00 GMT") == 304)
    #expect(try await status("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT") == 200)
    #expect(try await status("If-Modified-Since: yesterday") == 200)
    #expect(
      try await status("If-None-Match: \"two\"", "If-Modified-Since: Mon, 07 Nov 1994 00:00:00 GMT")
        == 200)
  }

  @Test func `If-Range selects the range only with a strong, matching validator`() async throws {
    let range = "Range: bytes=0-9"
    #expect(try await status(range, "If-Range: \"one\"") == 206)
    #expect(try await status(range, "If-Range: \"two\"") == 200)
    #expect(try await status(range, "If-Range: W/\"one\"", etag: "W/\"one\"") == 200)
    #expect(try await status(range, "If-Range: Sun, 06 Nov 1994 08:49:37 GMT") == 206)
    #expect(try await status(range, "If-Range: Sun, 06 Nov 1994 08:49:36 GMT") == 200)
    #expect(
      try await status(range, "If-Range: Sun, 06 Nov 1994 08:49:37 GMT", lastModified: false)
        == 200)
  }
}
