// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// A network proxy for requests.
  struct CurlProxy: Sendable, Hashable {
    /// In libcurl's form: `http://user:password@host:3128`, `socks5://…`; http without a scheme.
    let url: String

    /// The name for messages, without its password.
    var name: String {
      let authority = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
      let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
      return String((host ?? authority).prefix { $0 != "/" })
    }

    /// Whether the proxy receives HTTP requests, rather than connection requests (SOCKS).
    var speaksHTTP: Bool { !url.lowercased().hasPrefix("socks") }
  }

  /// The proxies that the environment names, and their exceptions: `http_proxy`, `https_proxy`,
  /// `all_proxy`, `no_proxy`. A pure value.
  ///
  /// `HTTP_PROXY` in capitals is ignored: in a CGI script it is the client's `Proxy:` header.
  /// Requests to this machine (`localhost`, `127.0.0.0/8`, `::1`) never use a proxy.
  struct ProxyEnvironment: Sendable, Hashable {
    private var byScheme: [String: String] = [:]
    private var other: String?
    private var exceptions: [Exception] = []

    init(_ environment: [String: String]) {
      func first(_ names: String...) -> String? {
        names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
      }
      byScheme["http"] = first("http_proxy")
      byScheme["https"] = first("https_proxy", "HTTPS_PROXY")
      other = first("all_proxy", "ALL_PROXY")
      exceptions = (first("no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0.isWhitespace }
        .map { Exception(String($0)) }
    }

    func proxy(for url: URL) -> CurlProxy? {
      guard let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(),
        let proxy = byScheme[scheme] ?? other
      else { return nil }
      let name = host.hasSuffix(".") ? String(host.dropLast()) : host
      guard !NetworkAddress.isLoopback(host: name), !name.hasSuffix(".localhost") else {
        return nil
      }
      let port = url.port ?? (scheme == "https" ? 443 : 80)
      guard !exceptions.contains(where: { $0.holds(for: name, port: port) }) else { return nil }
      return CurlProxy(url: proxy)
    }

    /// One entry of `no_proxy`: a name, which includes its subdomains; an address, or a range of
    /// them such as `10.0.0.0/8`; `*` for all. With a port, for that port alone.
    private struct Exception: Hashable {
      private var name: String
      private var port: Int?
      private var network: NetworkAddress?
      private var prefixLength: Int?

      init(_ text: String) {
        name = text.lowercased()
        // Two or more colons are an IPv6 address, unless it is in brackets.
        if let colon = name.lastIndex(of: ":"),
          name.hasPrefix("[") ? name[..<colon].hasSuffix("]") : name.firstIndex(of: ":") == colon,
          let number = Int(name[name.index(after: colon)...])
        {
          port = number
          name = String(name[..<colon])
        }
        let parts = name.split(separator: "/", maxSplits: 1)
        if let first = parts.first, let address = NetworkAddress(host: first) {
          network = address
          prefixLength = parts.count == 2 ? Int(parts[1]) ?? -1 : address.bytes.count * 8
        }
        while name.hasPrefix(".") || name.hasPrefix("*.") {
          name = String(name.dropFirst(name.hasPrefix(".") ? 1 : 2))
        }
      }

      func holds(for host: String, port asked: Int) -> Bool {
        if let port, port != asked { return false }
        if name == "*" { return true }
        if let network, let prefixLength, let address = NetworkAddress(host: host) {
          return address.begins(with: network, bits: prefixLength)
        }
        return !name.isEmpty && (host == name || host.hasSuffix("." + name))
      }
    }
  }
#endif
