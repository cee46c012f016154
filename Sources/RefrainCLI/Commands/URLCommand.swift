// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

struct URLCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "url",
    abstract: "Print the proxy's URL to give to a player in place of a URL.",
    discussion: """
      The proxy is 'refrain serve' with the same cache directory and its most recent options. It \
      does not have to run yet. A proxy with --origin has URLs for that server only.

      Prints a line for each URL; with --json an array of objects with 'url' and 'proxied'.

      Examples:
        mpv "$(refrain url https://example.org/song.flac)"
        refrain url https://example.org/a.flac https://example.org/b.flac > list.m3u
      """)

  @Argument(
    help: ArgumentHelp("The URLs to proxy.", valueName: "url"), transform: URL.argument)
  var urls: [URL]

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let (urls, options) = (urls, options)
    try await withCache(options) { cache in
      let record = try ProxyFile(directory: options.directory).readOrCreate()
      let proxy = try asUsage {
        try CacheProxy(cache: cache, configuration: Self.configuration(of: record))
      }
      let all = try urls.map {
        Proxied(url: $0.absoluteString, proxied: try proxy.urlForPlayer($0))
      }
      if options.json { return try Console.shared.print(JSONText.line(all)) }
      for one in all { try Console.shared.print(one.proxied.absoluteString) }
    }
  }

  static func configuration(of record: ProxyRecord) -> CacheProxy.Configuration {
    var configuration = CacheProxy.Configuration()
    configuration.address = record.address
    configuration.port = record.port
    configuration.token = record.origin == nil ? record.token : nil
    configuration.origin = record.origin
    configuration.names = record.names
    configuration.allowedHosts = record.allowedHosts
    return configuration
  }

  private struct Proxied: Encodable {
    var url: String
    var proxied: URL
  }
}
