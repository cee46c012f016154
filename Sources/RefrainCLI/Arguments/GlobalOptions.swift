// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainStreams

/// The options of every command, before or after its name.
struct GlobalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The cache's directory. Default: $REFRAIN_CACHE, else \(DefaultDirectory.words).",
      valueName: "dir"),
    completion: .directory)
  var cache: String?

  @Option(
    help: ArgumentHelp(
      "The maximum size of the cache on disk, as in 500M or 2GiB, or 'none'. Default: 10G.",
      valueName: "size"),
    transform: { text in try usage { try ByteLimit(parsing: text) } })
  var limit = ByteLimit.standard

  @Option(
    name: .customLong("header"),
    help: ArgumentHelp(
      "A header for each request to the origin. Other hosts that its playlists name receive "
        + "User-Agent, Referer, Origin, Accept and Accept-Language alone. May be given several "
        + "times.",
      valueName: "name: value"),
    transform: { text in try usage { try HeaderArgument.parse(text) } })
  var headers: [HeaderFields.Field] = []

  @Option(
    name: .customLong("key-ignore"),
    help: ArgumentHelp(
      """
      A query parameter that does not identify a resource, as 'session', 'utm_*' for all names \
      with that beginning, or '*.example.org/session' for some hosts; may be given several times. \
      URLs that differ in nothing else share one entry: only for parameters that do not select \
      content. Without this option, common signatures (Amazon, CloudFront, Google, Azure, Akamai) are \
      ignored; with it, the named parameters alone.
      """, valueName: "name"),
    transform: { text in try usage { try IgnoredParameter(parsing: text) } })
  var ignoredParameters: [IgnoredParameter] = []

  @Option(help: ArgumentHelp("The level of messages on standard error.", valueName: "level"))
  var logLevel = LogLevel.warning

  @Flag(help: "Write JSON to standard output, for programs.")
  var json = false

  @Flag(help: "Make no request: use stored bytes only.")
  var offline = false

  @Flag(help: "Never revalidate stored bytes: the bytes of a URL never change.")
  var trustStored = false

  var directory: URL {
    cache.map { URL(filePath: $0, directoryHint: .isDirectory) }
      ?? DefaultDirectory.find(in: ProcessInfo.processInfo.environment)
  }

  /// Whether the directory may hold a cache. A path that is not a directory counts as one: opening
  /// it reports the problem.
  var hasCache: Bool {
    var path = directory.path(percentEncoded: false)
    // With a trailing slash, the path of a file is not found.
    if path.count > 1, path.hasSuffix("/") { path.removeLast() }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      return false
    }
    guard isDirectory.boolValue else { return true }
    return FileManager.default.fileExists(
      atPath: directory.appending(path: "entries").path(percentEncoded: false))
  }

  var configuration: MediaCache.Configuration {
    var configuration = MediaCache.Configuration()
    configuration.limit = limit.bytes
    configuration.offline = offline
    configuration.trustStored = trustStored
    configuration.policy = .streams
    if !ignoredParameters.isEmpty {
      configuration.cacheKey = IgnoredParameter.rule(ignoredParameters).key(for:)
    }
    return configuration
  }

  /// The headers for each request to the origin.
  var fields: HeaderFields { HeaderFields(headers.map { ($0.name, $0.value) }) }

  func resource(_ url: URL) -> Resource { Resource(url: url, headers: fields) }
}

/// URL arguments of the commands.
extension URL {
  /// Parses a URL argument; for `transform:`.
  @Sendable static func argument(_ text: String) throws -> URL {
    try usage { try URLArgument.parse(text) }
  }
}

/// Reports an invalid argument through the parser, with exit code 64.
func usage<Value>(_ parse: () throws -> Value) throws -> Value {
  do {
    return try parse()
  } catch let error as InvalidArgument {
    throw ValidationError(error.description)
  }
}

/// The cache directory if `--cache` is not given.
enum DefaultDirectory {
  #if os(macOS)
    static let words = "~/Library/Caches/Refrain"
  #else
    static let words = "refrain in $XDG_CACHE_HOME or ~/.cache"
  #endif

  /// Returns `$REFRAIN_CACHE`, else the library's own default.
  static func find(in environment: [String: String]) -> URL {
    if let chosen = environment["REFRAIN_CACHE"], !chosen.isEmpty {
      return URL(filePath: chosen, directoryHint: .isDirectory)
    }
    return MediaCache.defaultDirectory
  }
}

/// A header on the command line: `Name: value`.
enum HeaderArgument {
  static func parse(_ text: String) throws -> HeaderFields.Field {
    guard let colon = text.firstIndex(of: ":") else {
      throw InvalidArgument("a header is written 'Name: value'")
    }
    let name = String(text[..<colon])
    guard name.isToken else {
      throw InvalidArgument("'\(printable(name))' is not a valid header name")
    }
    let value = text[text.index(after: colon)...]
    // Checks bytes: Swift treats CR LF as one character.
    guard value.utf8.allSatisfy(\.isValueByte) else {
      throw InvalidArgument("a header's value must be one line without control characters")
    }
    return HeaderFields.Field(name: name, value: String(value.trimmingOWS))
  }
}
