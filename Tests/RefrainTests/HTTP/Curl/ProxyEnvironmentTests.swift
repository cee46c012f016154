// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import Refrain

  /// The proxy from the environment that each request uses.
  struct ProxyEnvironmentTests {
    private func proxy(_ environment: [String: String], _ url: String) throws -> String? {
      try ProxyEnvironment(environment).proxy(for: #require(URL(string: url)))
    }

    @Test func `Each scheme uses its own proxy variable, else all_proxy`() throws {
      let environment = ["http_proxy": "h", "HTTPS_PROXY": "s", "all_proxy": "a"]
      #expect(try proxy(environment, "http://e.example/") == "h")
      #expect(try proxy(environment, "HTTPS://e.example/") == "s")
      #expect(try proxy(["ALL_PROXY": "a"], "https://e.example/") == "a")
      #expect(try proxy(["https_proxy": "s"], "http://e.example/") == nil)
      #expect(try proxy(["https_proxy": "", "HTTPS_PROXY": "t"], "https://e.example/") == "t")
      #expect(try proxy([:], "http://e.example/") == nil)
    }

    /// In a CGI script the variable holds the request's field "Proxy".
    @Test func `HTTP_PROXY in upper case is ignored`() throws {
      #expect(try proxy(["HTTP_PROXY": "evil"], "http://e.example/") == nil)
    }

    @Test(arguments: [
      "http://localhost/", "http://a.localhost:8/", "http://127.0.0.1/", "http://127.9.9.9:1/",
      "http://[::1]:80/", "https://LOCALHOST/", "http://localhost./",
    ])
    func `Requests to this machine bypass the proxy`(_ url: String) throws {
      #expect(try proxy(["all_proxy": "p", "http_proxy": "p"], url) == nil)
    }

    @Test(arguments: [
      ("e.example", "http://e.example/"), ("e.example", "http://a.b.e.example/"),
      (".e.example", "http://e.example/"), ("*.e.example", "http://x.e.example:81/"),
      ("E.Example", "http://e.EXAMPLE./"), ("x,e.example y", "http://e.example/"),
      ("*", "http://e.example/"), ("10.0.0.1", "http://10.0.0.1/"),
      ("10.0.0.0/8", "http://10.200.3.4:80/"), ("fd00::/8", "http://[fd12::1]/"),
      ("[fd00::1]", "http://[fd00::1]/"), ("fd00::1", "http://[fd00:0::1]/"),
      ("0.0.0.0/0", "http://9.9.9.9/"),
    ])
    func `Hosts in no_proxy bypass the proxy`(_ exceptions: String, _ url: String) throws {
      for name in ["no_proxy", "NO_PROXY"] {
        #expect(try proxy(["http_proxy": "p", "https_proxy": "p", name: exceptions], url) == nil)
      }
    }

    @Test(arguments: [
      ("e.example", "http://notme.example/"), ("e.example", "http://ae.example/"),
      ("e.example:81", "http://e.example:81/"), ("10.0.0.0/8", "http://11.0.0.1/"),
      ("10.0.0.0/33", "http://10.0.0.0/"), ("10.0.0.0/x", "http://10.0.0.0/"), ("", "http://a/"),
      (",. ,", "http://a/"), ("fd00::/8", "http://10.0.0.1/"), ("10.0.0.1", "http://110.0.0.1/"),
      ("*x", "http://xx/"),
    ])
    func `Hosts not in no_proxy use the proxy`(_ exceptions: String, _ url: String) throws {
      #expect(try proxy(["http_proxy": "p", "no_proxy": exceptions], url) == "p")
    }
  }
#endif
