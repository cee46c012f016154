// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import RefrainCLI

struct ProxiedArgumentsTests {
  /// Replaces URLs by marked ones, spelled as they are.
  private func replacing(_ arguments: String..., port: Int? = 8573) throws -> [String] {
    let proxied = ProxiedArguments(port: port) { "proxied:\($0.absoluteString)" }
    return proxied.replacing(arguments)
  }

  @Test(arguments: [
    "https://example.org/song.flac", "http://example.org", "HTTPS://Example.org/a",
    "hTTp://[2001:db8::1]:8080/a?b=c", "https://me:secret@example.org/a",
    "https://example.org/a%2Fb?sig=%2F%3D", "http://127.0.0.1:8000/a", "http://example.org:8573/",
  ])
  func `A web URL is replaced, alone and as an option's value`(_ url: String) throws {
    #expect(try replacing(url) == ["proxied:\(url)"])
    #expect(try replacing("--audio-file=\(url)") == ["--audio-file=proxied:\(url)"])
    #expect(try replacing("--file=\(url)") == ["--file=proxied:\(url)"])
    #expect(try replacing("-i=\(url)") == ["-i=proxied:\(url)"])
    #expect(try replacing("-i", url) == ["-i", "proxied:\(url)"])
  }

  @Test(arguments: [
    "", "-", "--", "-i", "song.flac", "https:/example.org", "https://", "http:///a", "httpx://h/a",
    "ftp://example.org/a", "see https://example.org/", " https://example.org/", "url=https://h/a",
    "--file=song.flac", "--file=", "--text=see https://h/a", "rtsp://h/a", "file:///a",
    "cache:http://h/a",
  ])
  func `An argument that is not a web URL is left unchanged`(_ argument: String) throws {
    #expect(try replacing(argument) == [argument])
  }

  @Test(arguments: [
    "http://127.0.0.1:8573/token/x", "http://localhost:8573/", "http://[::1]:8573/",
  ])
  func `A URL of the proxy itself is left unchanged`(_ url: String) throws {
    #expect(try replacing(url, "--file=\(url)") == [url, "--file=\(url)"])
    #expect(try replacing(url, port: 8574) == ["proxied:\(url)"])
  }

  @Test func `Only the first equals sign separates an option from its value`() throws {
    #expect(try replacing("--url=b=https://h/c") == ["--url=b=https://h/c"])
    #expect(try replacing("--url=https://h/c=d=e") == ["--url=proxied:https://h/c=d=e"])
  }

  @Test(arguments: [
    "--user-agent=https://h/a", "--ytdl-raw-options=https://h/a", "--title=https://h/a",
    "--http-header-fields=https://h/a", "--x=https://h/a",
  ])
  func `Values of options that name no media are left unchanged`(_ option: String) throws {
    #expect(try replacing(option, "https://h/b") == [option, "proxied:https://h/b"])
  }

  @Test(arguments: [
    ("https://h/a/../b/./c", "https://h/b/c"), ("http://e.org:/", "http://e.org/"),
    ("http://e.org:?a", "http://e.org?a"),
    (
      "https://b\u{FC}cher.example/\u{E4}",
      "https://xn--bcher-kva.example/%C3%A4"
    ), ("http://[::1]:/a", "http://[::1]/a"),
  ])
  func `A URL is normalized as a program would request it`(_ text: String, _ url: String) throws {
    #expect(try replacing(text) == ["proxied:\(url)"])
  }

  @Test func `A URL that the proxy cannot serve is left unchanged and reported`() {
    struct Refused: Error {}
    let reported = Mutex<[String]>([])
    let proxied = ProxiedArguments(port: 1) { _ in
      throw Refused()
    } reportLeft: { text, _ in
      reported.withLock { $0.append(text) }
    }
    #expect(proxied.replacing(["-v", "https://me:pw@h/a#t"]) == ["-v", "https://me:pw@h/a#t"])
    #expect(reported.withLock { $0 } == ["https://h/a"])
  }

  @Test func `Values of referrer, proxy and user agent options are left unchanged`() throws {
    for option in [
      "--referrer", "-referer", "--http-referrer", "--http-proxy", "-http_proxy", "-user_agent",
      "-A", "-e", "-x",
    ] {
      #expect(try replacing("\(option)=https://h/a") == ["\(option)=https://h/a"])
      #expect(
        try replacing(option, "https://h/a", "https://h/b")
          == [option, "https://h/a", "proxied:https://h/b"])
    }
  }

  @Test func `The fragment of a URL is kept`() throws {
    #expect(try replacing("https://h/a?b#t=10") == ["proxied:https://h/a?b#t=10"])
  }
}
