import { build, transform } from "esbuild";
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
const br = (b) => brotliCompressSync(Buffer.from(b), { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: b.length } }).length;
const virtual={fallback:'export const TEXTS={};export const ENGLISH=["The payment form did not load","Check your connection and load this page again. If it happens again, please tell the shop."]'};
const stub=process.argv[2];
const plug=(drop)=>({name:"v",setup(b){b.onResolve({filter:/^virtual:/},({path})=>({path:path.slice(8),namespace:"virtual"}));b.onLoad({filter:/.*/,namespace:"virtual"},({path})=>({contents:virtual[path],loader:"js"}));
b.onLoad({filter:/\.css$/},async({path})=>{const {code}=await transform(readFileSync(path),{loader:"css",minify:true,target:["chrome111"]});return{contents:code.replace(/(--[\w-]+): /g,"$1:").replace(/(var\(--[\w-]+), /g,"$1,").trim(),loader:"text"}})}});
const MANGLED=new RegExp(`^(?:${JSON.parse(readFileSync("mangled.json")).join("|")})$`);
for (const [n,e] of [["dropin","src/shell/init.ts"],["frame","src/frame/frame.ts"]]) {
 const r=await build({absWorkingDir:process.cwd(),entryPoints:[e],bundle:true,write:false,minify:true,charset:"utf8",format:"iife",metafile:true,plugins:[plug()],legalComments:"none",target:["es2022"],mangleProps:MANGLED,define:{SAVED:"1",PAYMENT:"1",PROGRESS:"1",FALLBACK:"1"},tsconfigRaw:{compilerOptions:{useDefineForClassFields:false}}});
 // leave one out on the unminified-marked output: build with minify but keep module boundaries by comments impossible; approximate by regions
 const t=r.outputFiles[0].text; const total=br(t); console.log(n,t.length,total);
 const o=Object.values(r.metafile.outputs)[0];
 // order of modules in output = inputs order; slice text sequentially
 let at=t.indexOf("{")+1; const rows=[];
 for (const [k,v] of Object.entries(o.inputs)) { rows.push([k,v.bytesInOutput,at]); at+=v.bytesInOutput; }
 for (const [k,len,pos] of rows) { const w=t.slice(0,pos)+t.slice(pos+len); console.log("  ",String(total-br(w)).padStart(5),String(len).padStart(6),k); }
}
